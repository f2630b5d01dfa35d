"""Small frames of every kind that the figures read, drawn from a known hierarchy."""

from importlib import import_module
from itertools import combinations

import numpy as np
import pandas as pd
import synthetic
from one_sample import t_interval
from scipy.special import entr

from ict_core.evidence.frames import curve_means
from ict_core.evidence.measures import token_frames
from ict_core.evidence.stored import ArmVariation
from ict_core.figures.registry import FIGURES
from ict_core.seeding import generator
from ict_core.statistics.ranks import rank_frame
from ict_core.statistics.schemas import BATCHES, STATISTICS
from ict_core.store.records import STUDY_LEARNING_CURVE, STUDY_OVERLAP, STUDY_SHADOW, STUDY_TOKENS
from ict_core.store.token_scores import GROUP_SCORES
from ict_core.theory.single_logit import h1_change, h2_change

METRICS = {"pass@1": 0.0, "pass@2": 0.1, "pass@4": 0.18, "pass@8": 0.24, "total": 0.09}
NAN = float("nan")
SELECTING_FROM = 5


def arms(models, variants, seeds, base=True):
    for model in models:
        for variant in [*(["base"] if base else []), *variants]:
            yield model, variant, [0] if variant == "base" else list(seeds)


def runs(models=synthetic.MODELS, variants=synthetic.VARIANTS, seeds=(1, 2, 3)):
    """Two benchmarks and the average; STAPO's runs equal GRPO's."""
    rows = []
    for model, variant, numbers in arms(models, variants, seeds):
        for seed in numbers:
            same = "grpo" if variant == "stapo" else variant
            level = 0.3 + 0.2 * synthetic.GAINS.get(same, 0.3) + 0.1 * list(models).index(model)
            level += generator(seed, "run", model, same).normal(0, 0.01)
            for metric, gain in METRICS.items():
                for benchmark, ease in (("easy", 0.05), ("hard", -0.05), ("average", 0.0)):
                    rows.append((model, variant, seed, benchmark, metric, level + gain + ease))
    return pd.DataFrame(rows, columns=list(STATISTICS["runs"]))


def levels(frame):
    """Of a frame of :func:`runs`: t over seeds, and a two-way interval that is 2 points wider at either end."""
    rows = []
    for key, arm in frame.groupby(["model", "variant", "benchmark", "metric"], sort=False):
        mean, low, high, n = t_interval(arm["value"])
        kind = "problems" if n == 1 else "two-way"
        wide = (mean - 0.04, mean + 0.04) if n == 1 else (low - 0.02, high + 0.02)
        rows.append((*key, mean, *wide, float(n - 1), kind, low, high, n, 100, *[float("nan")] * 3))
    return pd.DataFrame(rows, columns=list(STATISTICS["levels"]))


def contrasts(frame, baselines=synthetic.BASELINES, declared=(("ict-10", "grpo", "pass@4"),)):
    """Of a frame of :func:`runs`; verdicts by rule of thumb."""
    rows = []
    for model, of_model in frame.groupby("model", sort=False):
        values = of_model.set_index(["variant", "benchmark", "metric", "seed"])["value"].sort_index()
        variants = [v for v in of_model["variant"].unique() if v != "base"]
        pairs = [(v, b) for i, b in enumerate(b for b in baselines if b in variants)
                 for v in variants if v != b and v not in baselines[:i]]  # fmt: skip
        for variant, baseline in pairs:
            for benchmark in of_model["benchmark"].unique():
                for metric in ("pass@1", "pass@4", "total"):
                    gaps = values[variant, benchmark, metric] - values[baseline, benchmark, metric]
                    mean, low, high, n = t_interval(gaps)
                    verdict = "one seed" if n == 1 else "identical" if np.isnan(low) else "none seen"
                    verdict = "better" if low > 0 else verdict
                    family = (variant, baseline, metric) in declared and benchmark == "average"
                    row = dict.fromkeys(STATISTICS["contrasts"], NAN) | {
                        "model": model, "variant": variant, "baseline": baseline, "benchmark": benchmark,
                        "metric": metric, "family": "declared" if family else "exploratory", "seeds": n,
                        "difference": mean, "low": low, "high": high, "two_way_low": low - 0.01,
                        "two_way_high": high + 0.01, "test": "paired t", "verdict": verdict,
                    }  # fmt: skip
                    rows.append(row)
    return pd.DataFrame(rows)[list(STATISTICS["contrasts"])]


def _kept(variant, u, h1, rng):
    """The tokens that a variant keeps of one sequence: all, or a share by u, by H1, or at random."""
    name, _, percent = variant.partition("-")
    if not percent.isdigit():
        return np.ones(len(u), dtype=bool)
    score = {"ict": u, "entropy": h1}.get(name, rng.random(len(u)))
    return np.argsort(np.argsort(-score)) < -(-int(percent) * len(u) // 100)


def _sequence(variant, step, rollout, length, rng):
    n = int(rng.integers(length // 2, length))
    top = np.exp(-np.minimum(rng.gamma(0.3, 0.7, n), 1.2))  # three other tokens share what is left
    rest = (1 - top) / 3
    h1, h2 = entr(top) + 3 * entr(rest), -np.log(top**2 + 3 * rest**2)
    u = 0.5 * np.exp(-10 * rng.permutation(np.arange(n)) / n)
    selecting = variant in ("grpo", "stapo") or step >= SELECTING_FROM
    return {
        "selecting": np.full(n, selecting),
        "step": np.full(n, step),
        "rollout": np.full(n, rollout),
        "position": np.arange(n),
        "fork": (np.arange(n) % 9 == 4).astype(float),
        "logprob": np.log(np.where(rng.random(n) < top, top, rest)),
        "h1": h1,
        "h2": h2,
        "js": u,
        "kept": _kept(variant, u, h1, rng) if selecting else np.ones(n, dtype=bool),
    }


def _updated(logprob, h1, h2, rng):
    """The state after the token's own logit has moved a little."""
    shift = rng.normal(0, 0.2, len(logprob))
    after = logprob + shift - np.log(-np.expm1(logprob) + np.exp(logprob + shift))
    return {
        "logprob_after": np.minimum(after, 0.0),
        "h1_after": h1 + h1_change(logprob, h1, shift),
        "h2_after": h2 + h2_change(logprob, h2, shift),
    }


def tokens(models=synthetic.MODELS, variants=synthetic.VARIANTS, seeds=(1, 2, 3), steps=(0, 10, 20), length=40):
    """One group of four rollouts a step: u falls like exp(-10 rank), most tokens are nearly certain."""
    cells = []
    for model, variant, numbers in arms(models, variants, seeds, base=False):
        for seed in numbers:
            rng = generator(seed, "tokens", model, variant)
            parts = [_sequence(variant, step, rollout, length, rng) for step in steps for rollout in range(4)]
            columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            cell = {"model": model, "variant": variant, "seed": seed, "group": 0, "token": 7}
            cell |= dict.fromkeys(GROUP_SCORES, columns["js"]) | {"advantage": columns["rollout"] - 1.0}
            after = _updated(columns["logprob"], columns["h1"], columns["h2"], rng)
            cells.append(pd.DataFrame({**cell, **columns, **after}))
    return pd.concat(cells, ignore_index=True)[list(STUDY_TOKENS)]


def shadow(models=synthetic.MODELS, variants=synthetic.VARIANTS, seeds=(1, 2, 3), steps=(0, 10, 20)):
    """Every variant as a rule on the rollouts of every variant: 200 tokens a step, ten of them forks."""
    rows = []
    for model, variant, numbers in arms(models, variants, seeds, base=False):
        for seed in numbers:
            rng = generator(seed, "shadow", model, variant)
            for step in steps:
                for rule in variants:
                    percent = rule.rpartition("-")[2]
                    kept = int(percent) / 100 if percent.isdigit() else 1.0
                    hits = 10 if kept == 1 else int(rng.integers(0, 11))
                    row = dict.fromkeys(STUDY_SHADOW, rng.uniform(0.2, 0.6)) | {
                        "model": model, "variant": variant, "seed": seed, "step": step, "rule": rule, "tokens": 200,
                        "kept_share": kept, "forks": 10.0, "fork_recall": hits / 10,
                        "fork_precision": hits / (200 * kept),
                    }  # fmt: skip
                    rows.append(row)
    return pd.DataFrame(rows)[list(STUDY_SHADOW)]


def overlap(models=synthetic.MODELS, variants=synthetic.VARIANTS, seeds=(1, 2, 3), steps=(0, 10, 20)):
    """Every pair of rules on GRPO's rollouts; GRPO and STAPO rank no tokens."""
    rows = []
    for model, variant, numbers in arms(models, ["grpo"], seeds, base=False):
        for seed in numbers:
            rng = generator(seed, "overlap", model)
            for step in steps:
                for rule, other in combinations(variants, 2):
                    rank = NAN if {rule, other} & {"grpo", "stapo"} else rng.uniform(-1, 1)
                    rows.append((model, variant, seed, step, rule, other, rng.uniform(), rank))
    return pd.DataFrame(rows, columns=list(STUDY_OVERLAP))


def held_out(models=synthetic.MODELS, variants=synthetic.VARIANTS, seeds=(1, 2, 3), steps=(0, 8, 16)):
    """Ten answers a point, of which more are right later."""
    rows = [
        (model, variant, seed, "b", f"p{n}", step, 0, "correct" if n < 2 + step / 4 + seed % 2 else "wrong", 9)
        for model, variant, numbers in arms(models, variants, seeds, base=False)
        for seed in numbers
        for step in steps
        for n in range(10)
    ]
    return pd.DataFrame(rows, columns=list(STUDY_LEARNING_CURVE))


def of_tokens(log, sample, rules=None):
    """The frames of the statistics that are made without scores, of all variants."""
    variants = list(log["variant"].unique())
    rules = shadow(seeds=(1,), steps=(0,), models=["tiny"], variants=["grpo"]) if rules is None else rules
    return token_frames(log, sample, rules, variants, "grpo")


def frames(**study):
    """All frames by the registry's names, of a study with the given models, variants and seeds."""
    of_runs, log, sample, rules = runs(**study), synthetic.log(**study), tokens(**study), shadow(**study)
    return {
        **of_tokens(log, sample, rules),
        "log": log,
        "tokens": sample,
        "runs": of_runs,
        "levels": levels(of_runs),
        "contrasts": contrasts(of_runs),
        "batches": pd.DataFrame(columns=list(BATCHES)),  # the study varies none
        "ranks": rank_frame(of_runs, study.get("variants", synthetic.VARIANTS)),
        "shadow": rules,
        "overlap": overlap(**study),
        "learning_curve_means": curve_means(held_out(**study)),
    }


def drawn(name, frames, variants=synthetic.VARIANTS):
    """The figure of that name, with the settings that it cannot do without."""
    entry = FIGURES[name]
    module = import_module(f"ict_core.figures.{name}")
    known = {"baselines": synthetic.BASELINES, "arms": ARMS, "margin": 0.03, "kept": synthetic.KEPT}
    more = {setting: known[setting] for setting in entry.settings if setting in known}
    return module.draw(*(frames[i] for i in entry.inputs), variants=variants, **more)


ARMS = {
    "ict-20": ArmVariation("ict-10", "percent", (("method.percent", "10", "20"),), 50),
    "random-10": ArmVariation("ict-10", "score", (("method.score", "js", "random"),), 50),
    "stapo": ArmVariation("grpo", None, (("method.selector", "grpo", "stapo"),), 44),
}
