"""Frames for the tables: a synthetic study through the real statistics, and rows made by hand."""

from types import SimpleNamespace

import figure_frames
import pandas as pd
import synthetic

from ict_core.evidence.measures import token_frames
from ict_core.evidence.stored import ArmVariation
from ict_core.statistics.analysis import analyse
from ict_core.statistics.contrasts import Comparisons
from ict_core.statistics.ranks import rank_frame
from ict_core.statistics.schemas import SHARED_RATE, STATISTICS
from ict_core.store.layout import REPOSITORY
from ict_core.store.records import CONTAMINATION, NEAR_DUPLICATES, STUDY_SHADOW, STUDY_TOKENS, TUNING
from ict_core.tables.paper import read_paper
from ict_core.tables.registry import INPUTS

NAN = float("nan")
LEVELS, CONTRASTS = STATISTICS["levels"], STATISTICS["contrasts"]
PAPER = read_paper(REPOSITORY / "configs" / "paper.yaml")
NAMES = ["GSM8K", "MATH-500", "MMLU-STEM", "GPQA", "AIME 2023", "AIME 2024", "AIME 2025"]
MIRRORS = dict(zip(synthetic.BENCHMARKS, NAMES, strict=True))
ARMS = {
    "ict-20": ArmVariation("ict-10", "percent", (("method.percent", "10", "20"),), 50),
    "random-10": ArmVariation("ict-10", "score", (("method.score", "js", "random"),), 50),
}
VARIED = [(variant, arm.of) for variant, arm in ARMS.items()]
DECLARED = [("ict-10", baseline, "pass@4") for baseline in (*synthetic.BASELINES, "random-10")]


def settings(variants=synthetic.VARIANTS, baselines=synthetic.BASELINES, **changes):
    """What the tables take of `TableSettings`."""
    known = {"mirrors": MIRRORS, "margin": 0.02, "power": 0.8, "paper": PAPER, "arms": ARMS, "recipe_rate": 3e-4}
    known |= {"variants": tuple(variants), "baselines": tuple(baselines), "kept": synthetic.KEPT}
    selectors = {variant: {"selector": variant.partition("-")[0]} for variant in synthetic.VARIANTS}
    known |= {"whole": {"methods": selectors}, "validity": None, "chooses_rates": True, "scope": ""}
    return SimpleNamespace(**known | changes)


def compute(cells):
    """A frame of records.COMPUTE: one pretraining a model, one training and one generation a run."""
    rows = []
    for model, variant, seed in cells:
        stages = ["pretrain" if variant == "base" else "train", "generate"]
        rows += [(model, variant, seed, stage, 1000 * (seed + 1), 2.0, 500.0, NAN) for stage in stages]
    columns = ["model", "variant", "seed", "stage", "tokens", "seconds", "peak_memory_mib", "peak_gpu_memory_mib"]
    return pd.DataFrame(rows, columns=columns)


def contamination(benchmarks):
    """A frame of records.CONTAMINATION: of 40 problems of each benchmark, in reverse order, a few are like training."""
    rows = [(benchmark, 40, 2000, 1, 0, 3, 2, 4, 1, 39) for benchmark in reversed(benchmarks)]
    return pd.DataFrame(rows, columns=list(CONTAMINATION))


def near_duplicates(count=12):
    """A frame of records.NEAR_DUPLICATES: problems of one benchmark, the nearest first, every other answer the same."""
    rows = [
        ("mini-symbolic", f"test/algebra/{i}.json", "train", f"train-{i:05d}", 1 - i / 100, ("no", "yes")[i % 2])
        for i in range(count)
    ]
    return pd.DataFrame(rows, columns=list(NEAR_DUPLICATES))


def tokens(cells):
    """A frame of records.STUDY_TOKENS: of 20 tokens a step, two of them forks, each run keeps two, one a fork."""
    return pd.concat(
        pd.DataFrame({"position": range(20)})
        .assign(fork=[1.0] * 2 + [0.0] * 18, kept=[True, False, True] + [False] * 17)
        .assign(model=model, variant=variant, seed=seed, selecting=step > 0, step=step)
        .reindex(columns=list(STUDY_TOKENS))
        for model, variant, seed in cells
        for step in (0, 10, 20)
        if variant != "base"
    )


def shadow(cells, rules):
    """A frame of records.STUDY_SHADOW: every rule on every run, at step 0 and 10, the same but for `shadow_row`."""
    rows = [
        shadow_row(model=model, variant=variant, seed=seed, step=step, rule=rule)
        for model, variant, seed in cells
        for step in (0, 10)
        for rule in rules
        if variant != "base"
    ]
    return pd.DataFrame(rows)


def shadow_row(**values):
    """One row of records.STUDY_SHADOW: of 20 tokens, two of them forks, two are kept, one a fork."""
    row = {**dict.fromkeys(STUDY_SHADOW, 0.25), "model": "tiny", "variant": "grpo", "seed": 1, "step": 0, "tokens": 20}
    row |= {"kept_share": 0.1, "forks": 2.0, "fork_recall": 0.5, "fork_precision": 0.5}
    return row | values


def frames(scores, variants=synthetic.VARIANTS, baselines=synthetic.BASELINES, declared=DECLARED):
    """All frames of a study, its statistics computed."""
    comparisons = Comparisons(list(baselines), dict.fromkeys(declared, ("question",)), VARIED, 0.02, 0.8)
    found = analyse(scores, list(variants), comparisons)
    cells = cells_of(scores)
    study = {"models": list(scores["model"].unique()), "seeds": sorted({*scores["seed"]} - {0})}
    log = synthetic.log(variants=variants, **study)
    sample = figure_frames.tokens(variants=[v for v in variants if v in ("grpo", "ict-10")], **study)
    of_tokens = token_frames(log, sample, shadow(cells, variants), variants, baselines[0])
    measured = {"scores": scores, "compute": compute(cells), "near_duplicates": near_duplicates()}
    measured["contamination"] = contamination(scores["benchmark"].unique())
    measured |= {"log": log, "ranks": rank_frame(found["runs"], variants)}
    empty = ("validity", "batches", f"{SHARED_RATE}levels", f"{SHARED_RATE}contrasts")
    measured |= {name: pd.DataFrame(columns=list(STATISTICS[name])) for name in empty}
    measured["tuning"] = pd.DataFrame(columns=list(TUNING))
    frames = {**found, **of_tokens, **measured}
    return {name: frames[name] for name in INPUTS}


def cells_of(scores):
    """(model, variant, seed) of every cell."""
    return list(scores[["model", "variant", "seed"]].drop_duplicates().itertuples(index=False, name=None))


def levels(*rows):
    """A frame of schemas.LEVELS from (model, variant, benchmark, metric, mean, low, high); three seeds, base one."""
    made = [
        dict.fromkeys(LEVELS, NAN)
        | dict(zip(LEVELS, row[:4], strict=False))
        | {"mean": row[4], "low": row[5], "high": row[6], "interval": "two-way", "problems": 40}
        | {"seeds": 1 if row[1] == "base" else 3}
        for row in rows
    ]
    return pd.DataFrame(made, columns=list(LEVELS))


def contrast(variant, baseline, metric="pass@1", model="tiny", benchmark="average", **values):
    """One row of schemas.CONTRASTS; what is not given is NaN."""
    row = dict.fromkeys(CONTRASTS, NAN) | {"model": model, "variant": variant, "baseline": baseline}
    row |= {"benchmark": benchmark, "metric": metric, "family": "exploratory", "question": "", "seeds": 3}
    return row | {"test": "paired t", "verdict": "none seen"} | values


def contrasts(*rows):
    """A frame of schemas.CONTRASTS."""
    return pd.DataFrame(list(rows), columns=list(CONTRASTS))
