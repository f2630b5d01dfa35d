"""A checkpoint folder is data: whatever code or pickle lies in it, nothing of it runs, and the message says what is."""

import json
import pickle
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from ict_core.config.inputs import Architecture, LocalModel
from ict_core.errors import UserError
from ict_core.evaluation.engine import Request, Sampling, load_engine
from ict_core.evaluation.generate import stop_token_ids
from ict_core.models.fetch import fetch_model
from ict_core.shadow.checkpoint import GroupSampling, sample_groups
from ict_core.store.records import PROBLEMS

REPOSITORY = Path(__file__).resolve().parents[2]
WEIGHTS = ("pytorch_model.bin", "model.bin", "model.pt", "model.pth", "model.ckpt")
WEIGHTS += ("consolidated.00.pth", "tf_model.h5")
BESIDE = ("training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "rng_state.pth", "adapter_model.bin")
MODULES = ("modeling_tiny.py", "config_tiny.py", "tokenization_tiny.py", "__init__.py", "custom_generate/generate.py")
SIZES = {"hidden_size": 64, "layers": 2, "heads": 2, "kv_heads": 2, "intermediate_size": 64, "vocab_size": 352}
TINY = Architecture(**SIZES, max_positions=160)
STATED = LocalModel(
    kind="local", path="source", architecture=TINY, tied_embeddings=True, dtype="float32", stop_ids=(0,)
)
AUTO = {"AutoConfig": "config_tiny.C", "AutoModelForCausalLM": "modeling_tiny.M"}


class Evil:
    """Unpickling an instance makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.fixture
def marker(tmp_path) -> Path:
    return tmp_path / "ran"


@pytest.fixture
def hostile(tiny_checkpoint, tmp_path, marker) -> Path:
    """A good checkpoint among pickles and modules under the names that loaders look for."""
    folder = tmp_path / "source"
    shutil.copytree(tiny_checkpoint, folder)
    for name in (*WEIGHTS, *BESIDE):
        (folder / name).write_bytes(pickle.dumps(Evil(marker)))
    for name in MODULES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"open({str(marker)!r}, 'w')\n")
    return folder


def fetch(folder: Path) -> None:
    fetch_model(STATED, "tiny.yaml", folder.parent, {}, folder.parent / "out/model")


def engine(folder: Path) -> None:
    sampling = Sampling(1.0, 1.0, 4, stop_token_ids(folder))
    load_engine("transformers", folder, 60, 1, "float32").sample([Request("1+1=", 0)], sampling)


def inspect(folder: Path) -> None:
    problems = pd.DataFrame([("b", "p", "1+1", "[]", "1+1=", "2", "math")], columns=list(PROBLEMS))
    sampling = GroupSampling(group_size=2, temperature=1.0, max_new_tokens=4, seed=0)
    sample_groups(folder, problems, sampling, {"seconds": 5, "memory_mib": 512})


LOADERS = (fetch, engine, inspect)


def edit(file: Path, **changed) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))


def pickled_alone(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def pickled_safetensors(folder: Path) -> None:
    shutil.copy(folder / "model.bin", folder / "model.safetensors")


def pickled_beside_another(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "other.safetensors")


def index_of_pickles(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    weights = {"model.embed_tokens.weight": "pytorch_model.bin"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weights}))


def own_model(folder: Path) -> None:
    edit(folder / "config.json", model_type="tiny", architectures=["M"], auto_map=AUTO)


def own_tokenizer(folder: Path) -> None:
    own = {"AutoTokenizer": ["tokenization_tiny.T", "tokenization_tiny.T"]}
    edit(folder / "tokenizer_config.json", tokenizer_class="T", auto_map=own)
    edit(folder / "config.json", model_type="tiny", auto_map=AUTO)


SPOILED = (pickled_alone, pickled_safetensors, pickled_beside_another, index_of_pickles, own_model, own_tokenizer)


def test_the_pickles_and_modules_would_run(hostile, marker):
    pickle.loads((hostile / "pytorch_model.bin").read_bytes())  # noqa: S301
    assert marker.exists()


@pytest.mark.parametrize("load", LOADERS)
def test_what_lies_beside_a_good_checkpoint_is_left_alone(hostile, marker, load):
    edit(hostile / "config.json", auto_map=AUTO)
    edit(hostile / "generation_config.json", custom_generate="custom_generate")
    load(hostile)
    assert not marker.exists()
    copied = {path.name for path in (hostile.parent / "out").rglob("*")}
    assert not copied & {*WEIGHTS, *BESIDE, *MODULES, "generate.py"}


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("spoil", SPOILED)
def test_a_checkpoint_that_needs_code_or_pickles_is_refused(hostile, marker, load, spoil):
    spoil(hostile)
    with pytest.raises(UserError, match=r"(checkpoint|folder|safetensors).*(safetensors|code)"):
        load(hostile)
    assert not marker.exists()


@pytest.mark.parametrize("load", [engine, inspect])
def test_an_adapter_is_refused_as_it_names_another_checkpoint(hostile, marker, load):
    (hostile / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "owner/name"}')
    with pytest.raises(UserError, match="adapter; allowed: a model of"):
        load(hostile)
    assert not marker.exists()


# What can run what it reads; a file that may, and why, stands in ALLOWED.
RUNS_CODE = {
    "pickle": r"\b(import|from) (c?[pP]ickle|cloudpickle|dill)\b|allow_pickle\s*=\s*True|read_pickle",
    "torch.load": r"\btorch\.load\(|weights_only\s*=\s*False",
    "joblib, shelve, marshal": r"\b(import|from) (joblib|shelve|marshal)\b",
    "a message of multiprocessing": r"\.(send|recv)\(",
    "an unsafe YAML loader": r"yaml\.(load|load_all|unsafe_load\w*|full_load\w*)\(|yaml\.(Unsafe|Full)?Loader\b",
    "eval or exec": r"(?<![\w.\"'])(eval|exec)\(",
    "remote code": r"trust_remote_code\s*=\s*(?!False)",
    "a checkpoint": r"from_pretrained\((?!.*trust_remote_code=False)",
    "a shell": r"shell\s*=\s*True|os\.(system|popen)\(",
}
ALLOWED = {
    ("ict_core/process/forkserver.py", "a message of multiprocessing"),  # a socket's bytes, read as JSON
}


def test_no_code_of_the_project_runs_what_it_reads():
    folders = [REPOSITORY / name for name in ("ict_core", "workflow", "benchmarks", "notebooks", "scripts")]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    code = [file for file in files if file.suffix in (".py", ".smk", ".ipynb", ".sh", "")]
    code += [REPOSITORY / "Snakefile", REPOSITORY / "Makefile"]
    texts = {str(file.relative_to(REPOSITORY)): file.read_text() for file in code}
    found = [(file, name) for file in texts for name, way in RUNS_CODE.items() if re.search(way, texts[file])]
    assert set(found) == ALLOWED
