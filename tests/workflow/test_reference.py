"""The stored full run: everything shown is rebuilt from it, byte for byte, on a machine without torch or vLLM.

Equal bytes only show that nothing has changed since the run was stored. Whether its numbers are right is checked by
hand from its scores in `tests/tools/explain`, and of the code in `tests/statistics`, `tests/evidence`, `tests/tables`.
"""

import json
import re
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from repository_copy import REPOSITORY, Copy

from ict_core.commands.cli import main
from ict_core.evidence import Stored
from ict_core.figures import FIGURES
from ict_core.report._answer import answer
from ict_core.store import MANIFEST, TABLE_KINDS, TOKEN_TABLES, read_manifest, write_manifest
from ict_core.tables import TABLES

REFERENCE = REPOSITORY / "results" / "reference" / "mini"
REBUILD = ("--snakefile", "workflow/reference.smk")
# all but the figures' own files: the notebook draws each of them, and the smoke study writes them
MADE = ("claims.json", "paper_figures.ipynb", "paper/paper.md", "figures/forest.png")
SHOWN = ("tables", *(f"results/rebuilt/mini/{name}" for name in MADE))
RATES = ("shared_rate_scores", "scores")  # of the study that tunes, at the rate of the other one
HEAVY = ("torch", "vllm", "transformers", "trl", "accelerate", "datasets", "math_verify", "tokenizers")


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory) -> Copy:
    """A copy in which the stored run has been rebuilt and no heavy package can be imported."""
    copy = Copy(tmp_path_factory.mktemp("reference"))
    shutil.copytree(REFERENCE, copy.folder / "results" / "reference" / "mini", dirs_exist_ok=True)
    for package in HEAVY:
        (copy.folder / f"{package}.py").write_text(f'raise ImportError("{package} is not needed for the evidence")\n')
    result = copy.snakemake(*SHOWN, *REBUILD)
    assert result.returncode == 0, result.stdout[-5000:]
    return copy


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    "study",
    [
        "mini",
        "mini-20",
        "mini-again",
        "mini-components",
        "mini-ablations",
        "smollm2",
        "rules",
        "rules-controls",
        "rules-two-updates",
    ],
)
def test_a_stored_run_is_small_whole_and_of_today_s_schemas(study):
    folder = REFERENCE.parent / study
    most = {"mini-ablations": 30, "rules": 40, "rules-two-updates": 15, "rules-controls": 18}.get(
        study, 10
    )  # MiB, of many token samples
    assert sum(path.stat().st_size for path in folder.rglob("*.*")) < most * 2**20
    stored = Stored(folder)
    for name in ("scores", "log", "tokens", "compute", "contamination", "near_duplicates", "shadow", "overlap"):
        assert len(stored.frame(name)) > 0 or name == "near_duplicates"
    assert set(stored.settings.variants) == set(stored.frame("log")["variant"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert not any(source["dirty"] for source in manifest["sources"])  # nothing uncommitted
    assert len(manifest["sources"]) == 1 or study == "rules"  # four of whose base models were made a commit earlier
    begins = "supervised_start" if study == "smollm2" else "pretrain"
    assert {job["stage"] for job in manifest["jobs"]} >= {begins, "train", "generate"}
    assert stored.mixed == ""


def test_no_stored_study_names_a_place_of_the_machine_that_ran_it():
    files = sorted(REFERENCE.parent.rglob("*.json"))
    assert len(files) > 20
    assert [str(file) for file in files if re.search(r'"[/~][^"]*"', file.read_text())] == []


def test_cells_that_two_stored_runs_share_have_the_same_scores():
    """Of the same base models, at one rate, with the same numerics."""
    folders = [REFERENCE.parent / study for study in ("mini", "mini-ablations")]
    one, other = (Stored(folder).frame(name) for folder, name in zip(folders, RATES, strict=True))
    both = one.merge(other, on=["model", "variant", "seed", "benchmark", "problem"], suffixes=("", "_other"))
    assert both["variant"].nunique() == 5 and len(both) == 250 * 5 * 6  # six seeds of each variant
    assert trained_with("mini") == trained_with("mini-ablations")
    for column in ("n", "correct", "wrong"):
        assert both[column].equals(both[f"{column}_other"].rename(column))


def trained_with(study: str) -> set[str]:
    """What the numerical libraries of a stored study's trainings were held to."""
    manifest = read_manifest(REFERENCE.parent / study / MANIFEST)
    return {json.dumps(manifest["processes"][job["process"]]["numerics"]) for job in manifest["jobs"] if job["tokens"]}


def test_the_seeds_of_the_default_study_are_the_first_of_twenty():
    """The same to the bit."""
    for name in ("scores", "shared_rate_scores", "tuning"):
        six, twenty = (Stored(REFERENCE.parent / study).frame(name) for study in ("mini", "mini-20"))
        first = twenty[twenty["seed"].isin(six["seed"].unique())].reset_index(drop=True)
        key = [column for column in ("model", "variant", "seed", "rate", "benchmark", "problem") if column in six]
        one, other = (frame.sort_values(key, ignore_index=True) for frame in (first, six))
        assert len(one) and one.equals(other)
    assert trained_with("mini") == trained_with("mini-20")


def test_the_documentation_says_how_stable_the_stored_verdicts_are():
    """D's promise for six seeds, and the figures of README and docs/mini-world.md."""
    table = pd.read_csv(REFERENCE.parent / "mini-20" / "tables" / "stability.csv")
    decided = table[table["verdict"].isin(["supported", "contradicted"])].groupby("seeds")
    often, mean = decided["same"].agg(lambda same: int((same >= 0.8).sum())), decided["same"].mean()
    opposite = table.groupby("seeds")["opposite"].max()
    assert opposite[6] < 0.01
    text = (REPOSITORY / "docs" / "mini-world.md").read_text()
    rows = {
        f"of the {decided.size()[6]} verdicts that twenty seeds reach": [f"{n} seeds" for n in (3, 6, 10)],
        "reached by 80 % or more of the smaller studies": [str(often[n]) for n in (3, 6, 10)],
        "reached by the smaller studies, mean": [f"{100 * mean[n]:.0f} %" for n in (3, 6, 10)],
        "the opposite, at most": [f"{100 * opposite[n]:.1f} %" for n in (3, 6, 10)],
    }
    for head, cells in rows.items():
        assert f"| {head} | {' | '.join(cells)} |" in text, head
    told = (
        f"Of the {table['claim'].nunique()} claims that `mini` tests, the same study with twenty seeds and base models"
    )
    readme = " ".join((REPOSITORY / "README.md").read_text().split())
    assert told in readme and f"(`mini-20`) decides {decided.size()[6]}." in readme
    assert f"for {often[6]} of them 80 % or more reach the same" in readme


def test_the_documentation_says_what_lies_between_base_models():
    """The levels' parts as the stored table has them, the differences' by the mean squares of a nested ANOVA."""
    folder = REFERENCE.parent / "mini-components"
    text = " ".join((REPOSITORY / "docs" / "mini-world.md").read_text().split())
    rows = pd.read_csv(folder / "tables" / "components.csv").query("benchmark == 'average' and metric == 'pass@4'")
    sd = rows.set_index(["variant", "source"])["sd"]
    for variant in ("grpo", "ict-10", "random-10"):
        parts = (f"{100 * sd[variant, source]:.1f}" for source in ("base model", "seed"))
        assert f"| pass@4 of `{variant}` | {' | '.join(parts)} |" in text
    scores = Stored(folder).frame("scores")
    n, c = scores["n"], scores["correct"]
    wrong = np.prod([np.clip((n - c - i) / (n - i), 0, None) for i in range(4)], axis=0)  # of four answers drawn
    means = scores.assign(value=1 - wrong).groupby(["variant", "seed", "benchmark"])["value"].mean()
    runs = means.groupby(["variant", "seed"]).mean().unstack("variant")
    for variant in ("ict-10", "random-10"):
        groups = (runs[variant] - runs["grpo"]).dropna().to_numpy().reshape(5, 3)
        within = groups.var(axis=1, ddof=1).mean()
        between = max(0.0, groups.mean(axis=1).var(ddof=1) - within / 3)
        assert f"| `{variant}` − `grpo` | {100 * between**0.5:.1f} | {100 * within**0.5:.1f} |" in text


def test_the_documentation_says_at_how_many_forks_the_score_is_zero():
    """They are outranked at the others, not without a score."""
    text = (REPOSITORY / "docs" / "mini-world.md").read_text()
    tokens = Stored(REFERENCE.parent / "mini-ablations").frame("tokens")
    forks = tokens[(tokens["variant"] == "grpo") & (tokens["fork"] == 1)]
    above = round(100 * (forks["js"] > 1e-6).mean())
    assert f"ICT's score is 0 at {100 - above} % of the forks. At the other {above} %" in " ".join(text.split())


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


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("study", ["mini-20", "smollm2", "rules", "rules-controls", "rules-two-updates"])
def test_the_evidence_of_another_stored_study_is_made_anew_byte_for_byte(study, tmp_path):
    copy, folder = Copy(tmp_path), REFERENCE.parent / study
    shutil.copytree(folder, copy.folder / "results" / "reference" / study, dirs_exist_ok=True)
    settings = ("--config", f"stored=results/reference/{study}", f"results=results/rebuilt/{study}")
    result = copy.snakemake("tables", f"results/rebuilt/{study}/claims.json", *REBUILD, *settings)
    assert result.returncode == 0, result.stdout[-5000:]
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
    result = rebuilt.run("ict", "tables", *folders, "--paper", "configs/paper.yaml")
    assert result.returncode == 0, result.stdout
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
    assert kinds.count("image/png") == len(FIGURES) + 4
    assert str(rebuilt.folder) not in nbformat.writes(made)


@pytest.mark.slow
def test_a_second_rebuild_has_nothing_to_do(rebuilt):
    assert rebuilt.planned(*SHOWN, *REBUILD) == []


@pytest.mark.slow
def test_figures_are_a_target_of_their_own(rebuilt, tmp_path):
    copy = Copy(tmp_path, rebuilt.folder)
    shutil.rmtree(copy.folder / "results/rebuilt/mini/figures")
    jobs = [rule for rule, _, _ in copy.planned("figures", *REBUILD)]
    assert len(jobs) == len(FIGURES) + 1 and all(rule.startswith("figure") for rule in jobs)
