"""A checkpoint is asked in its model's template, each benchmark as often as the evaluation says."""

import shutil

import pandas as pd

from ict_core.config.inputs import LocalModel, Template
from ict_core.config.study_file import Evaluation
from ict_core.evaluation.answers import answers
from ict_core.evaluation.engine import Completion, Engine
from ict_core.store import records
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import file_hashes, write_manifest

EVALUATION = Evaluation(
    engine="transformers", samples=2, samples_of={"b": 1}, temperature=1.0, top_p=1.0, max_new_tokens=4, threads=1
)
MODEL = LocalModel.model_construct(
    kind="local", dtype="float32", prompt=Template(template="<{prompt}>", source="made up"), hardware=None
)
PROBLEMS = pd.DataFrame(
    [(name, "1", "1", "[]", f"{name}?", "7", "integer") for name in ("a", "b")], columns=list(records.PROBLEMS)
)


class Asked(Engine):
    """Notes what it is asked, and answers the same each time."""

    def __init__(self):
        self.prompts = []

    def settings(self, sampling):
        return {}

    def stream(self, requests, sampling):
        for position, request in enumerate(requests):
            self.prompts.append(request.prompt)
            yield position, Completion("7", (1,), 1, "stop", -1.0)


def test_prompts_stand_in_the_template_and_benchmarks_have_their_own_number_of_samples(
    tiny_checkpoint, tmp_path, monkeypatch
):
    checkpoint, engine = tmp_path / "model", Asked()
    shutil.copytree(tiny_checkpoint, checkpoint)
    write_manifest(checkpoint / MANIFEST, {"files": file_hashes(checkpoint)})
    monkeypatch.setattr("ict_core.evaluation.answers.load_engine", lambda *_: engine)
    found, facts = answers(checkpoint, MODEL, EVALUATION, PROBLEMS, 3, None)
    assert engine.prompts == ["<a?>", "<a?>", "<b?>"] and list(found["benchmark"]) == ["a", "a", "b"]
    assert (facts["completions"], facts["completions_reused"]) == (3, 0)
