"""A run beside a stored one, file by file and verdict by verdict."""

import json
import shutil
from pathlib import Path

import pytest

from ict_core.commands import cli
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.tools.verify.compare import against

STORED = Path(__file__).parents[3] / "results" / "reference" / "mini"


@pytest.fixture
def run(tmp_path) -> Path:
    """A run that came out as the stored one did."""
    return Path(shutil.copytree(STORED, tmp_path / "mini"))


def test_the_same_files_are_the_same(run, capsys):
    names = [path.name for path in STORED.rglob("*") if path.is_file()]
    number = len([name for name in names if "compute" not in name and "manifest" not in name])
    claims = len(json.loads((STORED / "claims.json").read_text())["claims"])
    assert {"scores.parquet", "claims.json", "main.csv"} <= set(names)
    assert cli.main(["verify", str(run), "--against", str(STORED)]) == 0
    head, files, verdicts = capsys.readouterr().out.splitlines()
    assert head == f"{run} against {STORED}" and verdicts.startswith(f"verdicts: {claims} of {claims} are")
    assert files.startswith(f"files: {number} of {number} are")


def test_a_stored_file_with_wall_times_may_differ(run):
    (run / "compute.parquet").unlink()
    assert against(run, STORED)[1]


def test_what_differs_is_named_with_its_verdict_and_the_cause(run, tmp_path):
    claims = json.loads((run / "claims.json").read_text())
    first = claims["claims"][0]
    before, first["verdict"] = first["verdict"], "another one"
    (run / "claims.json").write_text(json.dumps(claims))
    (run / "tables/main.csv").unlink()
    stored = Path(shutil.copytree(STORED, tmp_path / "stored"))
    for folder, chosen in ((stored, "portable"), (run, "native")):
        manifest = read_manifest(folder / "manifest.json")
        for process in manifest["processes"]:
            process["numerics"] = {"chosen": chosen}
        write_manifest(folder / "manifest.json", manifest)
    page, same = against(run, stored)
    number = len(claims["claims"])
    assert not same and f"\nverdicts: {number - 1} of {number} are" in page
    assert "\n  claims.json differs\n  tables/main.csv missing\n" in page
    assert f"\n  {first['id']}: {before} -> another one\n" in page
    assert "\n  hardware: a CPU with portable numerics -> " in page
    assert cli.main(["verify", str(run), "--against", str(stored)]) == 1


def test_another_configuration_is_told(run):
    settings = read_manifest(run / "study.json")
    settings["evaluation"]["temperature"] = 0.5
    write_manifest(run / "study.json", settings)
    _, _, *told = against(run, STORED)[0].partition("\nfiles: ")[0].splitlines()
    assert [line.split(":")[0] for line in told] == ["  evaluation.temperature"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify"], "the folder of a cell, or --against FOLDER"),
        (["verify", "{run}", "--against", "{run}/tables"], "tables/study.json: no such file"),
        (["verify", "{run}", "--against", "{run}", "--steps", "3"], "--steps: is for a cell"),
    ],
)
def test_bad_input_is_one_clear_error(run, capsys, arguments, message):
    assert cli.main([argument.format(run=run) for argument in arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [b"", b'{"claims": [', b"\xff\xfe", b"[]", b"null", b'{"claims": 3}', b'{"claims": [{"id": "a"}]}', b"[" * 100_000],
    ids=["empty", "cut", "not UTF-8", "a list", "null", "a number", "without verdicts", "deep"],
)
def test_damaged_claims_are_one_clear_error(run, capsys, content):
    (run / "claims.json").write_bytes(content)
    for folders in ((run, STORED), (STORED, run)):
        assert cli.main(["verify", str(folders[0]), "--against", str(folders[1])]) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(f"error: {run}/claims.json: not as `ict claims`")
