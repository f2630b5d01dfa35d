"""The folders of this machine that a study is made from, looked for before a job starts."""

from pathlib import Path

from ict_core.config._models import LocalModel
from ict_core.config._study import Study
from ict_core.config.mistakes import Mistakes
from ict_core.store import StudyFiles


def has_problems(results: Path) -> bool:
    """Whether a study's problems are made, in the folder of its results."""
    files = StudyFiles(results)
    return files.train_problems.exists() and files.eval_problems.exists()


def check_sources(study: Study, root: Path, results: Path) -> None:
    """Tell which folder that a study names is not there: its mirror, until its problems are made, and local models.

    To load a study does not look for them, as what reads only the study or its results needs none.

    Args:
        study: a loaded study.
        root: the repository of the study's file.
        results: the study's folder.

    Raises:
        UserError: one line a folder.
    """
    mistakes, configs = Mistakes(), root / "configs"
    named = [
        (configs / "models" / f"{name}.yaml", "path", model.path, "config.json, tokenizer and *.safetensors")
        for name, model in study.models.items()
        if isinstance(model, LocalModel)
    ]
    if study.data.mirror is not None and not has_problems(results):
        rows = "OWNER/NAME/CONFIG/SPLIT.jsonl"
        named.append((configs / "studies" / f"{study.name}.yaml", "data.mirror", study.data.mirror, rows))
    for file, key, path, content in named:
        if not (root / path).is_dir():
            allowed = f"one of {content}, absolute or from the repository's folder"
            mistakes.add(file, key, f"{path!r}: there is no folder {root / path}; allowed: {allowed}")
    mistakes.raise_if_any()
