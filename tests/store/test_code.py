"""Which files a job depends on, by its imports."""

import ast
import subprocess
import sys

import pytest

from ict_core.selection.registry import rule_files
from ict_core.store import code
from ict_core.store.code import LIBRARY, files_of, fingerprint, name_of
from ict_core.store.files import hash_file

TRAIN, GENERATE, CACHE = ("stages.train", "selection.grpo"), ("stages.generate",), ("evaluation.engine",)
RESUME = ("training.run", "selection.grpo")


def names(*modules: str) -> set[str]:
    return set(map(name_of, files_of(*modules)))


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library of a few files in place of this one: (its folder, a function that writes a file into it)."""
    root = tmp_path / "ict_core"
    names = ("seeding", "process/_kernels", "process/numerics", "process/vllm_environment", "process/startup")
    for name in ("__init__", *names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / f"{name}.py").write_text("")
    monkeypatch.setattr(code, "LIBRARY", root)
    files_of.cache_clear()
    yield root
    files_of.cache_clear()


def test_the_closure_by_hand(library):
    for folder in ("stages", "a", "b", "c"):
        (library / folder).mkdir()
        (library / folder / "__init__.py").write_text("")
    one = "from ict_core.a.near import f\nfrom ict_core.process.startup import g\nfrom ict_core.c.inner import known\n"
    (library / "stages/one.py").write_text(one)
    (library / "c/inner.py").write_text("known = 1\n")
    (library / "c/other.py").write_text("more = 1\n")
    (library / "a/near.py").write_text("def f():\n    import ict_core.b.late\n")
    (library / "a/never.py").write_text("from ict_core import seeding\n")
    (library / "b/late.py").write_text("from ict_core import seeding\nimport json\n")
    expected = ["__init__", "a/__init__", "a/near", "b/__init__", "b/late", "c/__init__", "c/inner", "seeding"]
    expected += ["stages/__init__", "stages/one"]
    always = ["process/_kernels", "process/numerics", "process/vllm_environment"]
    assert {file.relative_to(library).as_posix() for file in files_of("stages.one")} == {
        f"{name}.py" for name in [*expected, *always]
    }


def test_the_imports_of_every_file_are_those_that_python_parses():
    for file in LIBRARY.rglob("*.py"):
        text = file.read_text()
        parsed = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                parsed |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                parsed |= {f"{node.module}.{alias.name}" for alias in node.names}
        assert set(code._imports(text)) == {name for name in parsed if name.split(".")[0] == "ict_core"}, file


def test_an_edit_changes_the_fingerprints_of_those_that_import_it_and_of_no_other(library):
    (library / "one.py").write_text("import ict_core.two\n")
    (library / "two.py").write_text("")
    (library / "three.py").write_text("")
    before = {module: fingerprint(module) for module in ("one", "two", "three")}
    (library / "two.py").write_text("# another\n")
    files_of.cache_clear()
    after = {module: fingerprint(module) for module in before}
    assert [module for module in before if before[module] != after[module]] == ["one", "two"]


def test_a_file_that_lost_its_underscore_is_the_one_that_a_job_had_loaded(library):
    (library / "a").mkdir()
    (library / "a/near.py").write_text("")
    same = hash_file(library / "a/near.py")
    assert code.edited({"a/_near.py": same}, "a.near") == []
    assert code.edited({"a/_near.py": "0" * 16, "a/_other.py": same}, "a.near") == ["a/near.py"]
    assert code.is_infrastructure("store/_files.py") and not code.is_infrastructure("store/_other.py")


def test_how_a_checkpoint_is_read_counts_in_training_resume_sampling_and_cache():
    for modules in (TRAIN, RESUME, GENERATE, CACHE):
        assert {"models/read.py", "process/numerics.py", "process/vllm_environment.py"} <= names(*modules)


def test_what_only_records_or_shows_counts_nowhere():
    for modules in (TRAIN, RESUME, GENERATE, CACHE, ("stages.grade",)):
        parts = {name.split("/")[0] for name in names(*modules)}
        assert not parts & {"commands", "config", "tables", "figures", "report", "tools", "evidence"}


@pytest.mark.parametrize("rule", rule_files())
def test_of_the_selection_rules_a_training_depends_on_its_own(rule):
    module = rule_files()[rule]
    of_rules = {f"selection/{name}.py" for name in rule_files().values()}
    assert names("stages.train", f"selection.{module}") & of_rules == {f"selection/{module}.py"}


def test_a_module_that_is_not_there_is_an_error():
    with pytest.raises(FileNotFoundError):
        files_of("stages.none")


def test_a_fingerprint_imports_nothing_heavy():
    told = "import sys, ict_core.store.code as c; c.fingerprint('stages.train'); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, cwd=LIBRARY.parent, check=True)
    assert ran.stdout.strip() == "False"
