"""A token study from the answers to its page, by the stages' own commands, on a tiny random model."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.models.read import read_tokenizer
from ict_core.selection.base import distinct_rules
from ict_core.shadow.policy import Policy
from ict_core.store import records
from ict_core.store.layout import StudyFiles

ROOT = Path(__file__).parents[2]
MODEL = "mini-xs"
pytestmark = pytest.mark.slow


class Made:
    """A study in a folder of its own, with the tiny checkpoint for its base model."""

    def __init__(self, folder: Path, checkpoint: Path) -> None:
        shutil.copytree(ROOT / "configs", folder / "configs")
        self.study = folder / "configs" / "studies" / "smoke.yaml"
        text = self.study.read_text().replace("engine: vllm", "engine: transformers")
        text = text.replace("problems_per_benchmark: 4", "problems_per_benchmark: 2")
        text = text.replace("max_new_tokens: 112", "max_new_tokens: 24")
        text = text.replace("methods: [grpo, ict-10]", "methods: [grpo, ict-10, entropy-20, random-10]")
        self.study.write_text(text + "token_study: {gradient_prompts: 3}\n")
        self.results = folder / "results" / "smoke"
        self.files = StudyFiles(self.results)
        base = self.files.base_model(MODEL)
        shutil.copytree(checkpoint.parent, base.parent, dirs_exist_ok=True)
        self.paths = {
            "checkpoint": base,
            "problems": self.files.eval_problems,
            "cache": folder / "cache",
            "rollouts": self.files.rollouts(MODEL),
            "tokens": self.files.rollout_tokens(MODEL),
        }
        assert self.run("data", train=self.files.train_problems, eval=self.files.eval_problems) == 0
        assert self.rollouts() == 0

    def run(self, command: str, *given: str, **options: object) -> int:
        """The exit status of a command; of what is given the study's own paths, unless an option names another."""
        options = {"study": self.study} | {name: self.paths[name] for name in given} | options
        return main([command, *(text for name, value in options.items() for text in (f"--{name}", str(value)))])

    def rollouts(self, **options: object) -> int:
        options = {"model": MODEL, "out": self.paths["rollouts"]} | options
        return self.run("rollouts", "checkpoint", "problems", "cache", **options)

    def read(self, out: Path, **options: object) -> int:
        return self.run("read-tokens", "checkpoint", "problems", "rollouts", model=MODEL, out=out, **options)

    def changed(self, name: str, old: str, new: str) -> Path:
        """The file of a study that differs in one place."""
        study = self.study.with_name(f"{name}.yaml")
        study.write_text(self.study.read_text().replace("study: smoke", f"study: {name}").replace(old, new))
        return study

    def with_right_answers(self) -> None:
        """As if some answers of the first five problems had been right."""
        frame = records.read_frame(self.paths["rollouts"], records.ROLLOUTS)
        first = frame[["benchmark", "problem"]].drop_duplicates().head(5)
        right = frame.merge(first, how="left", indicator=True)["_merge"].eq("both") & (frame["sample"] < 2)
        status = frame["status"].mask(right.to_numpy(), "correct")
        records.write_frame(frame.assign(status=status), self.paths["rollouts"], records.ROLLOUTS)


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_checkpoint):
    found = Made(tmp_path_factory.mktemp("tokens"), tiny_checkpoint)
    found.with_right_answers()
    assert found.read(found.paths["tokens"]) == 0
    given = ("checkpoint", "problems", "rollouts", "tokens")
    assert found.run("token-gradients", *given, model=MODEL, out=found.files.rollout_gradients(MODEL)) == 0
    assert found.run("token-frames", results=found.results) == 0
    folder = found.files.token_study.results
    claims = ["--claims", str(ROOT / "configs" / "claims.yaml")]
    assert main(["token-pages", "--stored", str(folder), "--results", str(folder), *claims]) == 0
    return found


def test_the_tokens_are_those_that_were_sampled_and_read_by_the_model(made):
    rollouts = records.read_frame(made.paths["rollouts"], records.ROLLOUTS)
    tokens = records.read_frame(made.paths["tokens"], records.TOKENS)
    problems = records.read_frame(made.paths["problems"], records.PROBLEMS)
    assert len(rollouts) == 14 * 4 and tokens["group"].nunique() == 14
    sampled = [list(ids) for ids in records.unlisted(rollouts["ids"])]
    read = [rows["token"].tolist() for _, rows in tokens.groupby(["group", "rollout"])]
    assert read == sampled
    model = AutoModelForCausalLM.from_pretrained(made.paths["checkpoint"])
    prompt = read_tokenizer(made.paths["checkpoint"])(problems["prompt"].iloc[3])["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([prompt + sampled[12]])).logits[0, len(prompt) - 1 : -1]
    log_probs = logits.log_softmax(-1).gather(1, torch.tensor(sampled[12])[:, None]).squeeze(1)
    own = tokens[(tokens["group"] == 3) & (tokens["rollout"] == 0)]
    assert own["logprob"].tolist() == pytest.approx(log_probs.tolist(), abs=1e-4)


def test_answers_that_were_sampled_before_are_not_sampled_again(made, capsys):
    assert made.rollouts() == 0 and "56 reused" in capsys.readouterr().out
    made.with_right_answers()


def test_a_reading_that_was_killed_goes_on_where_it_was(made, tmp_path, monkeypatch):
    read, whole = [], Policy.tokens

    def dies(self, *arguments):
        if len(read) == 6:
            raise KeyboardInterrupt
        read.append(1)
        return whole(self, *arguments)

    monkeypatch.setattr(Policy, "tokens", dies)
    out = tmp_path / "again.parquet"
    assert made.read(out) == 130 and not out.exists()
    read.clear()
    monkeypatch.setattr(Policy, "tokens", lambda self, *a: (read.append(1), whole(self, *a))[1])
    assert made.read(out) == 0 and len(read) == 14 - 6
    assert out.read_bytes() == made.paths["tokens"].read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.parquet"]  # no part is left


def test_prompts_without_an_advantage_are_left_out_where_the_study_says_so(made, tmp_path, capsys):
    study = made.changed("mixed", "gradient_prompts: 3", "gradient_prompts: 3, with_advantage: true")
    out = tmp_path / "tokens.parquet"
    assert made.read(out, study=study) == 0
    whole, mixed = (records.read_frame(path, records.TOKENS) for path in (made.paths["tokens"], out))
    first = whole[whole["group"] < 5].reset_index(drop=True)
    assert first["advantage"].ne(0).all() and whole.loc[whole["group"] >= 5, "advantage"].eq(0).all()
    pd.testing.assert_frame_equal(mixed, first)
    wrong = tmp_path / "wrong.parquet"
    rollouts = records.read_frame(made.paths["rollouts"], records.ROLLOUTS)
    records.write_frame(rollouts.assign(status="wrong"), wrong, records.ROLLOUTS)
    assert made.read(out, study=study, rollouts=wrong) == 2
    assert "with_advantage: none of the 14" in capsys.readouterr().err


def test_problems_without_an_answer_are_refused(made, tmp_path, capsys):
    problems = records.read_frame(made.paths["problems"], records.PROBLEMS)
    other = tmp_path / "other.parquet"
    records.write_frame(problems.assign(problem="other-" + problems["problem"]), other, records.PROBLEMS)
    assert made.read(tmp_path / "tokens.parquet", problems=other) == 2
    told = capsys.readouterr().err
    assert str(made.paths["rollouts"]) in told and str(other) in told and "other-" in told


def test_gradients_are_of_the_first_prompts_with_right_and_wrong_answers(made):
    frame = records.read_frame(made.files.rollout_gradients(MODEL), records.GRADIENT_SHARES)
    problems, key = records.read_frame(made.paths["problems"], records.PROBLEMS), ["benchmark", "problem"]
    assert frame[key].drop_duplicates().to_numpy().tolist() == problems[key].head(3).to_numpy().tolist()
    rules = [rule.name for rule in distinct_rules(load_study(made.study).methods)]
    assert frame["rule"].tolist() == rules * 3
    whole = frame[frame["rule"] == "grpo"]
    assert (whole["norm_share"] == 1).all() and (whole["cosine"] == 1).all()
    assert frame.loc[frame["rule"] == "ict-10", "norm_share"].between(0.01, 0.99).all()


def test_the_claims_are_tested_on_one_value_a_prompt(made):
    files = made.files.token_study
    whole = json.loads(files.claims.read_text())
    assert whole["unit"] == "prompt" and "one base model" in whole["note"]
    claim = next(entry for entry in whole["claims"] if entry["id"] == "probability-of-kept")
    tokens = records.read_frame(made.paths["tokens"], records.TOKENS)
    means = []
    for _, own in tokens.groupby("group"):
        kept = []
        for _, rollout in own.groupby("rollout"):
            size = -(-len(rollout) // 10)
            kept += rollout.sort_values("js", ascending=False, kind="stable").head(size)["logprob"].tolist()
        means.append(np.exp(kept).mean())
    assert claim["estimate"] == pytest.approx(np.mean(means)) and claim["seeds"] == 14
    half = 2.160368656 * np.std(means, ddof=1) / 14**0.5  # the 97.5 % point of t with 13 degrees of freedom
    assert (claim["low"], claim["high"]) == pytest.approx((np.mean(means) - half, np.mean(means) + half))
    untested = {entry["id"] for entry in whole["claims"] if not entry["seeds"]}
    assert {"update-as-stated", "h1-falls", "branching-points"} <= untested


def test_the_page_shows_every_rule_and_stands_alone(made):
    files = made.files.token_study
    text, page = files.report.read_text(), files.overview.read_text()
    for words in ("ict-10", "entropy-20", "Content words and form words", "new prompts", "one base model"):
        assert words in text and words in page
    assert page.count("data:image/png;base64,") == 3 and "http" not in page
    rules = pd.read_csv(files.table("token_rules", "csv"))
    assert set(rules["quantity"]) >= {"probability", "norm_share", "elbow"}
    assert all(path.stat().st_size > 0 for path in files.token_pages)


CLAIMS = ROOT / "configs" / "claims.yaml"


def test_every_reading_is_of_the_distributions_at_the_tokens_that_were_sampled(made):
    given = ("checkpoint", "problems", "rollouts")
    out = made.files.readings(MODEL, "base", 0)
    assert made.run("readings", *given, model=MODEL, claims=CLAIMS, out=out) == 0
    cells = records.read_frame(out, records.READINGS)
    assert cells["set"].value_counts().to_dict() == {"first": 960, "second": 960} and (cells["prompts"] == 7).all()
    tokens = records.read_frame(made.paths["tokens"], records.TOKENS)
    paper = cells.query("reference == 'position' and scope == 'sequence' and temperature == 1 and cut == 'median'")
    for number, name in enumerate(("first", "second")):
        own = tokens[tokens["group"] % 2 == number]
        kept = pd.concat(
            rollout.sort_values("js", ascending=False, kind="stable").head(-(-len(rollout) // 10))
            for _, rollout in own.groupby(["group", "rollout"])
        )
        values = paper[paper["set"] == name].set_index("quantity")["probability"]
        wanted = {"p(a)": np.exp(kept["logprob"]), "beta": np.exp(-kept["h2"])}
        for quantity, of_kept in wanted.items():
            assert values[quantity] == pytest.approx(of_kept.groupby(kept["group"]).mean().mean(), abs=1e-3)
        above = np.heaviside(kept["h1"] - own["h1"].median(), 0.5).groupby(kept["group"]).mean().mean()
        assert paper.loc[paper["set"] == name, "high_share"].tolist() == pytest.approx([above] * 4, abs=0.02)
    assert not made.paths["rollouts"].with_name("readings.parquet.parts").exists()
    assert made.run("readings-pages", results=made.results, claims=CLAIMS) == 0
    assert all(path.stat().st_size > 0 for path in made.files.reading_pages)
    whole = records.read_frame(made.files.reading_pages[0], records.STUDY_READINGS)
    pd.testing.assert_frame_equal(whole[list(cells)], cells)


def test_readings_without_a_range_a_second_prompt_or_such_a_variant_are_refused(made, capsys, tmp_path):
    def refused(**options: Path) -> str:
        given = {"model": MODEL, "claims": CLAIMS, "out": tmp_path / "x"} | options
        assert made.run("readings", "checkpoint", "problems", "rollouts", **given) == 2
        return capsys.readouterr().err

    def changed(name: str, key: str) -> Path:
        return made.changed(name, "gradient_prompts: 3", f"gradient_prompts: 3, {key}")

    lacking = tmp_path / "claims.yaml"
    lacking.write_text(CLAIMS.read_text().replace("quantity: elbow,", "quantity: h1_change,"))
    assert "`within` of elbow" in refused(claims=lacking)
    assert "token_study.trained[0]: 'stapo'" in refused(study=changed("other", "trained: [stapo]"))
    frame, one = records.read_frame(made.paths["rollouts"], records.ROLLOUTS), tmp_path / "one.parquet"
    right = (frame["problem"] == frame["problem"].iloc[0]) & (frame["sample"] == 0)
    records.write_frame(frame.assign(status=right.map({True: "correct", False: "wrong"})), one, records.ROLLOUTS)
    assert "1 prompt to read" in refused(study=changed("one", "with_advantage: true"), rollouts=one)


def test_groups_of_different_sizes_are_refused(made, capsys, tmp_path):
    study = made.changed("sizes", "  samples: 4\n", "  samples: 4\n  samples_of: {mini-word: 5}\n")
    assert made.rollouts(study=study, out=tmp_path / "x") == 2
    assert "evaluation.samples_of: [4, 5]" in capsys.readouterr().err
