"""A run beside a stored one, file by file and verdict by verdict."""

import json
import shutil
from pathlib import Path

import pytest

from ict_core.commands import cli
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.tools.verify.compare import against, against_page

STORED = Path(__file__).parents[3] / "results" / "reference" / "mini"


@pytest.fixture
def run(tmp_path) -> Path:
    """A run that came out as the stored one did."""
    return Path(shutil.copytree(STORED, tmp_path / "mini"))


def test_the_same_files_are_the_same(run, capsys):
    found = against(run, STORED)
    assert found.same and not (found.verdicts or found.configuration or found.kinds)
    assert not any("compute" in name or "manifest" in name for name in found.files)
    assert {"scores.parquet", "claims.json", "tables/main.csv"} <= found.files.keys()
    assert cli.main(["verify", str(run), "--against", str(STORED)]) == 0
    number = len(found.files)
    assert f"files: {number} of {number} are the same bytes" in capsys.readouterr().out


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
    found = against(run, stored)
    assert {name: state for name, state in found.files.items() if state != "same"} == {
        "claims.json": "differs",
        "tables/main.csv": "missing",
    }
    assert found.verdicts == {first["id"]: (before, "another one")}
    page = against_page(found, run, stored)
    assert f"  {first['id']}: {before} -> another one\n" in page
    assert "\n  hardware: a CPU with portable numerics -> " in page
    assert cli.main(["verify", str(run), "--against", str(stored)]) == 1


def test_another_configuration_is_told(run):
    settings = read_manifest(run / "study.json")
    settings["evaluation"]["temperature"] = 0.5
    write_manifest(run / "study.json", settings)
    found = against(run, STORED)
    assert [line.split(":")[0] for line in found.configuration] == ["evaluation.temperature"]
    assert "configuration:\n  evaluation.temperature: " in against_page(found, run, STORED)


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
