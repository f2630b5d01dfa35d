"""The stored full run: everything shown is rebuilt from it, byte for byte, on a machine without torch or vLLM.

Equal bytes only show that nothing has changed since the run was stored. Whether its numbers are right is checked by
hand from its scores in `tests/tools/explain`, and of the code in `tests/statistics`, `tests/evidence`, `tests/tables`.
"""

import json
import re
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from matplotlib import rc_context
from repository_copy import REPOSITORY, Copy

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.evidence.stored import Stored
from ict_core.figures import readings
from ict_core.figures.panels import RC
from ict_core.figures.registry import figures_of
from ict_core.figures.write import write as write_figure
from ict_core.report.answer import answer
from ict_core.stages.readings import ranges_of
from ict_core.store import records
from ict_core.store.layout import MANIFEST, TABLE_KINDS, TOKEN_TABLES
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.tables.readings import readings_table
from ict_core.tables.registry import TABLES
from ict_core.tables.write import write

REFERENCE = REPOSITORY / "results" / "reference" / "mini"
OTHERS = ["mini-20", "mini-40", "mini-again", "mini-again-2", "mini-again-3", "mini-ablations", "mini-batch", "smollm2"]
OTHERS += ["rules", "rules-controls", "rules-two-updates", "kl-cov-scopes", "mini-readings", "smollm2-transfer"]
REBUILD = ("--snakefile", "workflow/reference.smk")
# all but the figures' own files: the notebook draws each of them, and the smoke study writes them
MADE = ("claims.json", "paper_figures.ipynb", "paper/paper.md", "figures/forest.png")
SHOWN = ("tables", *(f"results/rebuilt/mini/{name}" for name in MADE))
HEAVY = ("torch", "vllm", "transformers", "trl", "accelerate", "datasets", "math_verify", "tokenizers")


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory) -> Copy:
    """A copy in which the stored run has been rebuilt and no heavy package can be imported."""
    copy = Copy(tmp_path_factory.mktemp("reference"))
    shutil.copytree(REFERENCE, copy.folder / "results" / "reference" / "mini", dirs_exist_ok=True)
    for package in HEAVY:
        (copy.folder / f"{package}.py").write_text(f'raise ImportError("{package} is not needed for the evidence")\n')
    copy.made(*SHOWN, *REBUILD)
    return copy


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("study", ["mini", *OTHERS])
def test_a_stored_run_is_small_whole_and_of_today_s_schemas(study):
    folder = REFERENCE.parent / study
    most = {"mini-ablations": 30, "mini-40": 20, "mini-batch": 25, "rules": 40}
    most |= {"rules-two-updates": 15, "rules-controls": 18}
    assert sum(path.stat().st_size for path in folder.rglob("*.*")) < most.get(study, 10) * 2**20
    stored = Stored(folder)
    for name in ("scores", "log", "tokens", "compute", "contamination", "near_duplicates", "shadow", "overlap"):
        none = (study, name) == ("kl-cov-scopes", "overlap")  # whose rules all keep every token
        assert (len(stored.frame(name)) > 0) != none or name == "near_duplicates"
    assert set(stored.settings.variants) == set(stored.frame("log")["variant"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert not any(source["dirty"] for source in manifest["sources"])  # nothing uncommitted
    # four base models of `rules`, 59 cells of `mini-again-2` and 20 of `mini-ablations` are of an earlier commit, 36 of
    # `mini-20` of `mini`'s
    assert len(manifest["sources"]) == 1 or study in ("rules", "mini-20", "mini-again-2", "mini-ablations")
    begins = "supervised_start" if study.startswith("smollm2") else "pretrain"
    assert {job["stage"] for job in manifest["jobs"]} >= {begins, "train", "generate"}
    assert (stored.mixed == "") == (study not in ("mini-20", "mini-again-2", "mini-ablations"))  # whose pages say so


def test_the_transfer_is_of_the_weights_that_smollm2_one_step_evaluates():
    jobs = json.loads((REFERENCE.parent / "smollm2-transfer/manifest.json").read_text())["jobs"]
    weights = {job["variant"]: job["model_sha256"] for job in jobs if job["stage"] == "train"}
    assert set(weights) == {"grpo", "ict-10"}
    for variant, of in weights.items():
        cell = REPOSITORY / f"results/cells/smollm2-one-step/smollm2-135m-one-step/{variant}/seed-0/cell.json"
        assert json.loads(cell.read_text())["jobs"]["made"]["model_sha256"] == of


@pytest.mark.slow
def test_stored_files_that_are_not_there_are_one_line(tmp_path):
    result = Copy(tmp_path).snakemake("--dry-run", *REBUILD, "--config", "stored=results/reference/nope")
    assert result.returncode == 1 and "results/reference/nope/study.json: no such file" in result.stdout
    assert "FileNotFoundError" not in result.stdout


def test_no_stored_study_names_a_place_of_the_machine_that_ran_it():
    files = sorted(REFERENCE.parent.rglob("*.json"))
    assert len(files) > 20
    assert [str(file) for file in files if re.search(r'"[/~][^"]*"', file.read_text())] == []


@pytest.mark.slow
@pytest.mark.parametrize("study", ["smollm2-tokens", "smollm2-rules"])
def test_the_pages_of_a_stored_token_study_are_made_anew_byte_for_byte(study, tmp_path):
    folder = REFERENCE.parent / study
    assert sum(path.stat().st_size for path in folder.rglob("*.*")) < 10 * 2**20
    assert not read_manifest(folder / MANIFEST)["source"]["dirty"]
    claims = ["--claims", str(REPOSITORY / "configs" / "claims.yaml")]
    assert main(["token-pages", "--stored", str(folder), "--results", str(tmp_path), *claims]) == 0
    shown = ["claims.json", "report.md", "figures/token_rules.png", "figures/token_overlap.png"]
    shown += [f"tables/{name}.{kind}" for name in TOKEN_TABLES for kind in ("csv", "md", "tex")]
    assert [name for name in shown if (tmp_path / name).read_bytes() != (folder / name).read_bytes()] == []


@pytest.mark.parametrize("study", ["readings", "smollm2-readings"])
def test_the_table_and_the_figure_of_the_stored_readings_are_made_anew_byte_for_byte(study, tmp_path):
    folder = REFERENCE.parent / study
    manifest = read_manifest(folder / MANIFEST)
    frame = records.read_frame(folder / "readings.parquet", records.STUDY_READINGS)
    assert not manifest["source"]["dirty"] and len(frame) == 2 * 960 * len(manifest["read"])
    note = load_study(REPOSITORY / "configs/studies" / f"{study}.yaml").note
    write(readings_table(frame), tmp_path, note)
    with rc_context(RC):
        write_figure(readings.draw(frame, ranges_of(REPOSITORY / "configs/claims.yaml")), "readings", tmp_path, note)
    for name in ("tables/readings.md", "figures/readings.png"):
        assert (tmp_path / Path(name).name).read_bytes() == (folder / name).read_bytes(), name


@pytest.mark.long
@pytest.mark.parametrize("study", OTHERS)
def test_the_evidence_of_another_stored_study_is_made_anew_byte_for_byte(study, tmp_path):
    copy, folder = Copy(tmp_path), REFERENCE.parent / study
    shutil.copytree(folder, copy.folder / "results" / "reference" / study, dirs_exist_ok=True)
    settings = ("--config", f"stored=results/reference/{study}", f"results=results/rebuilt/{study}")
    copy.made("tables", f"results/rebuilt/{study}/claims.json", *REBUILD, *settings)
    results = copy.folder / "results/rebuilt" / study
    stored, made = files(folder / "tables"), files(results / "tables")
    assert [name for name in stored if made[name] != stored[name]] == []
    assert [n for n in ("claims.json", "claims.md") if (results / n).read_bytes() != (folder / n).read_bytes()] == []


@pytest.mark.slow
def test_tables_and_claims_are_the_stored_ones_byte_for_byte(rebuilt):
    results = rebuilt.folder / "results/rebuilt/mini"
    stored, made = files(REFERENCE / "tables"), files(results / "tables")
    assert stored.keys() == made.keys()
    assert [name for name in made if made[name] != stored[name]] == []
    for name in ("claims.json", "claims.md", "figures/forest.png"):
        assert (results / name).read_bytes() == (REFERENCE / name).read_bytes()


@pytest.mark.slow
def test_the_stored_answer_follows_from_the_stored_run(rebuilt):
    study = Stored(REFERENCE, rebuilt.folder / "results/rebuilt/mini")
    claims = json.loads((REFERENCE / "claims.json").read_text())["claims"]
    frames = map(study.frame, ("levels", "contrasts", "tuning", "validity"))
    made = answer(study.settings, claims, *frames, study.averaged) + f"\n{study.note}\n"
    assert made == (REFERENCE / "answer.md").read_text()


@pytest.mark.slow
def test_every_table_of_a_mixed_study_says_so(rebuilt, tmp_path):
    stored = shutil.copytree(REFERENCE, tmp_path / "stored")
    manifest = read_manifest(stored / MANIFEST)
    write_manifest(stored / MANIFEST, manifest | {"loaded": [{"ict_core/a.py": "1"}, {"ict_core/a.py": "2"}]})
    shutil.copytree(rebuilt.folder / "results/rebuilt/mini/statistics", tmp_path / "statistics")
    folders = "--stored", str(stored), "--results", str(tmp_path)
    rebuilt.done("ict", "tables", *folders, "--paper", "configs/paper.yaml")
    tables = files(tmp_path / "tables")
    assert len(tables) == len(TABLE_KINDS) * len(TABLES)
    said = "Mixed study: its jobs come from different code (ict_core/a.py)."
    shown = {name: text.replace(b"\\_", b"_") for name, text in tables.items() if not name.endswith(".csv")}
    assert [name for name, text in shown.items() if said.encode() not in text] == []
    for name in TABLES:
        marked, unmarked = (
            pd.read_csv(folder / f"{name}.csv") for folder in (tmp_path / "tables", REFERENCE / "tables")
        )
        assert set(marked["mixed"]) == ({said} if len(marked) else set())
        pd.testing.assert_frame_equal(marked.drop(columns="mixed"), unmarked)


@pytest.mark.slow
def test_the_notebook_is_stored_without_outputs_and_executed_with_them(rebuilt):
    stored = nbformat.read(REPOSITORY / "notebooks/paper_figures.ipynb", as_version=4)
    made = nbformat.read(rebuilt.folder / "results/rebuilt/mini/paper_figures.ipynb", as_version=4)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert code and all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert [cell.source for cell in made.cells] == [cell.source for cell in stored.cells]
    outputs = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert kinds.count("image/png") == len(figures_of({})) + 4
    assert str(rebuilt.folder) not in nbformat.writes(made)


@pytest.mark.slow
def test_a_second_rebuild_has_nothing_to_do_and_figures_are_a_target_of_their_own(rebuilt, tmp_path):
    assert rebuilt.planned(*SHOWN, *REBUILD) == []
    copy = Copy(tmp_path, rebuilt.folder)
    shutil.rmtree(copy.folder / "results/rebuilt/mini/figures")
    jobs = [rule for rule, _, _ in copy.planned("figures", *REBUILD)]
    assert len(jobs) == len(figures_of({})) + 1 and all(rule.startswith("figure") for rule in jobs)
