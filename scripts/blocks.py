"""Writes the parts of pages that show stored results: `python scripts/blocks.py`.

A block of a page is between `<!-- NAME: python scripts/blocks.py -->` and `<!-- end -->`. docs/bench-tables.md is
generated as a whole. Measured numbers come from results/reference/; those about power and tests are computed here.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.evidence.stored import Stored
from ict_core.evidence.values import differences_of
from ict_core.markdown import markdown_table
from ict_core.report.claims import estimate_text
from ict_core.seeding import generator
from ict_core.statistics.arms import arms_of, count_matrices, frame_of_arms
from ict_core.statistics.deciding import detectable, seeds_needed, sign_flip_floor, two_one_sided
from ict_core.statistics.intervals import over_runs
from ict_core.statistics.schemas import ALPHA
from ict_core.tables.bench import NOT_OF_THE_WEIGHTS
from ict_core.tables.table import percent_interval

REPOSITORY = Path(__file__).resolve().parents[1]
REFERENCE = REPOSITORY / "results/reference"
# studies of one comparison with different seeds and base models, except that mini-20 contains the seeds of mini
REPLICATIONS = ("mini-40", "mini", "mini-20", "mini-again", "mini-again-2", "mini-again-3")
BEFORE = REPLICATIONS[2:]  # mini-40 was planned by these; the seeds of mini are among those of mini-20
BENCHES = {  # study -> its heading, and the differences in its table
    "rules": ("Twelve seeds", ("Δ grpo", "Δ random", "Δ mean one")),
    "rules-controls": ("Further controls, ten other seeds", ("Δ grpo", "Δ random", "Δ random, same sign")),
    "rules-two-updates": ("Two updates a rollout batch, ten seeds", ("Δ grpo", "Δ random", "Δ grpo, shared rate")),
}
TOKEN_QUANTITIES = {  # quantity in the study smollm2-rules -> heading of its column
    "kept_share": "effective share",
    "positive_share": "of it A > 0",
    "high_h1_share": "above the median H1",
    "probability": "probability",
    "norm_share": "gradient norm",
    "cosine": "its cosine",
}
TOKEN_CLAIMS = {  # claim of the study smollm2-tokens -> its name, and the paper's value
    "probability-of-kept": ("mean probability of the kept tokens", "0.18 ± 0.09"),
    "half-high-half-low-entropy": ("share of them above the median H1", "0.51, 0.50"),
    "elbow-near-ten": ("elbow of the sorted scores", "near 10 %"),
    "kept-lie-near-beta": ("distance of π from β, kept less dropped", "nearer"),
}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table without stated alignment."""
    return markdown_table(heads, rows, "-" * len(heads)).rstrip()


def smallest_p() -> str:
    """The smallest p-value of the sign-flip test at 3 to 10 seeds."""
    seeds = range(3, 11)
    return table(["seeds", *map(str, seeds)], [["2 / 2^n", *(f"{sign_flip_floor(n):.2g}" for n in seeds)]])


def seeds_and_differences() -> str:
    """The difference that the paired t-test detects by number of seeds, and the seeds that 2 points need."""
    sd = 0.02 * 2**0.5  # of a paired difference of independent runs that vary by 2 points each
    seeds = (3, 5, 10, 20)
    found = [f"{100 * float(detectable(sd, n, 0.8)):.1f}" for n in seeds]
    plain, paired, holm = (int(seeds_needed(0.02, *args)) for args in ((sd, 0.8), (0.02, 0.8), (sd, 0.8, ALPHA / 12)))
    text = f"A difference of 2 points needs {plain} seeds, or {holm} if it must also pass Holm's correction among 12."
    text += f" If the paired difference itself varies by only 2 points, {paired} seeds suffice."
    return f"{table(['seeds', *map(str, seeds)], [['points', *found]])}\n\n{text}"


def answer(study: str) -> str:
    """A stored study's answer."""
    return (REFERENCE / study / "answer.md").read_text(encoding="utf-8").strip()


def finding(study: str) -> str:
    """The line of a stored bench's answer with its counts, else the first line."""
    lines = answer(study).splitlines()
    return next((line for line in lines if " rules against " in line), lines[0])


def rows_of_bench(study: str) -> list[dict[str, str]]:
    """The rows of a study's table `bench`, as texts by their headings."""
    text = (REFERENCE / study / "tables/bench.md").read_text("utf-8")
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    head, _, *body = ([cell.strip() for cell in cells] for cells in lines)
    return [dict(zip(head, cells, strict=True)) for cells in body]


def bench_table(study: str, differences: Sequence[str]) -> str:
    """The stored table `bench`, with the share of known forks that each rule keeps."""
    folder = REFERENCE / study
    arms = Stored(folder).settings.arms
    forks = pd.read_csv(folder / "tables/forks.csv")
    forks = forks.query("rollouts == 'grpo' and measure == 'recall' and when == 'all'").set_index("rule")["mean"]
    rows = []
    for row in rows_of_bench(study):
        arm, kept = arms[row["rule"]], "—"
        names = [row["rule"], arm.of if arm.factor in NOT_OF_THE_WEIGHTS else row["rule"].replace("-kept", "-tokens")]
        if row["A > 0"] != "—":  # the rule has the baseline's advantages
            kept = f"{100 * next(forks[rule] for rule in names if rule in forks):.0f}"
        first = [f"`{row['rule']}`", row["own rate"], row["effective share"], row["A > 0"], kept]
        rows.append([*first, *(row[name] for name in differences), row["rank"]])
    heads = ["rule", "own rate", "effective share", "of it A > 0", "forks kept", *differences, "rank"]
    return table(heads, rows)


def screening() -> str:
    """What `ict screen` says of the bench's first stage: its table, then its sentence."""
    text = StringIO()
    with redirect_stdout(text):
        main(["screen", str(REPOSITORY / "configs/studies/rules-rates.yaml")])
    return text.getvalue().strip()


def token_table() -> str:
    """Properties of the tokens that the field's rules keep, on a real model."""
    frame = pd.read_csv(REFERENCE / "smollm2-rules/tables/token_rules.csv").set_index(["rule", "quantity"])
    rows = []
    for rule in frame.index.unique("rule"):
        found = (100 * frame.loc[[(rule, name) for name in TOKEN_QUANTITIES], ["mean", "low", "high"]]).to_numpy()
        cells = [f"{mean:.0f}" + ("" if np.isnan(low) else f" [{low:.0f}, {high:.0f}]") for mean, low, high in found]
        rows.append([f"`{rule}`", *cells])
    return table(["rule", *TOKEN_QUANTITIES.values()], rows)


def bench_tables() -> str:
    """The page with the tables of all benches."""
    benches = (
        f"## {heading}\n\n`results/reference/{study}/`\n\n{bench_table(study, differences)}\n"
        for study, (heading, differences) in BENCHES.items()
    )
    return "\n".join(
        [
            "# Tables of the bench\n",
            "The rules are described in [rules.md](rules.md), the findings in [bench.md](bench.md). Made from stored "
            "results by `python scripts/blocks.py`.\n",
            "Every rule is at its own learning rate. Shares are in percent: the effective share in the rule's own "
            "training, and on the rollouts of `grpo`, by weight, the part of the kept with A > 0 and the known forks "
            "kept (weights above 1 can give over 100). Differences are in points of pass@4 ± half their 95 % interval: "
            "from GRPO, from the same weights in random order, from the weights divided by their mean. ↑ ↓: better "
            "or worse after Holm's correction. ≈: equivalent within 2 points. The rank is followed by the ranks that "
            "the runs leave open. GRPO is ranked too, and has no row.\n",
            *benches,
            "## Training rewards in tuning\n",
            "`results/reference/rules-rates/`, by `ict screen rules-rates`: reward in the last quarter of training, "
            "at each arm's own rate, over four seeds, less a control's or GRPO's, in points ± half the 95 % interval, "
            "uncorrected. The margin is 3 points.\n",
            f"{screening()}\n",
            "## Tokens of a real model\n",
            "`results/reference/smollm2-rules/`. Percent, means over 26 prompts with 95 % intervals. The gradient is "
            "that of Σ w A ln p / T in the model's weights, on eight of these prompts: its norm relative to GRPO's, "
            "and the cosine between both.\n",
            f"{token_table()}\n",
        ]
    )


def token_claims() -> str:
    """The ledger's claims on a real model's tokens."""
    claims = json.loads((REFERENCE / "smollm2-tokens/claims.json").read_text("utf-8"))["claims"]
    found = {claim["id"]: claim for claim in claims}
    rows = []
    for claim, (name, paper) in TOKEN_CLAIMS.items():
        estimate = estimate_text(found[claim]).replace("\N{NO-BREAK SPACE}", " ")
        rows.append([name, estimate, paper, found[claim]["verdict"]])
    return table(["", "SmolLM2-135M", "the paper", "verdict"], rows)


def training_of_a_real_model() -> str:
    """The mean reward in each quarter of the stored trainings, and the entropy in the first and the last."""
    log = Stored(REFERENCE / "smollm2").frame("log").sort_values("step")
    rows = []
    for (variant, seed), steps in log.groupby(["variant", "seed"]):
        quarters = steps[["reward", "h1"]].groupby(np.arange(len(steps)) * 4 // len(steps)).mean()
        rewards = [f"{100 * reward:.1f} %" for reward in quarters["reward"]]
        entropies = f"{quarters['h1'].iloc[0]:.2f}, {quarters['h1'].iloc[-1]:.2f}"
        rows.append([f"`{variant}`, seed {seed}", *rewards, entropies])
    heads = ["mean reward of", "steps 1 to 6", "7 to 12", "13 to 18", "19 to 24", "H1, first and last"]
    return table(heads, rows)


def answers_to_published_problems() -> str:
    """pass@1 of the study `smollm2-transfer`, by benchmark: of the base model and after each training."""
    frame = pd.read_csv(REFERENCE / "smollm2-transfer/tables/main.csv")
    found = frame[(frame["metric"] == "pass@1") & (frame["benchmark"] != "average")]
    levels = [percent_interval(*limits) for limits in found[["mean", "low", "high"]].to_numpy()]
    wide = found.assign(level=levels).pivot(index=["benchmark", "problems"], columns="variant", values="level")
    rows = [[f"`{benchmark}`", f"{problems}", *row] for (benchmark, problems), *row in wide.itertuples()]
    return table(["benchmark", "problems", *(f"`{variant}`" for variant in wide)], rows)


def power_of_a_real_model() -> str:
    """The smallest difference that `smollm2-one-step` detects with its seeds and power, by the spread between seeds."""
    study, spreads = load_study(REPOSITORY / "configs/studies/smollm2-one-step.yaml"), (0.01, 0.02, 0.03, 0.05, 0.08)
    assert study.evidence.primary is not None
    seeds, power = len(study.grid[0].seeds), study.evidence.power
    rows = [
        [f"{level:.3f}", *(f"{100 * detectable(sd, seeds, power, level):.1f}" for sd in spreads)]
        for level in (ALPHA, ALPHA / len(study.evidence.primary.comparisons))
    ]
    return table(["level", *(f"sd {100 * sd:.0f}" for sd in spreads)], rows)


def chosen_rates() -> str:
    """The learning rate that `mini-rates` chose for every arm, and the rewards at it and one step lower and higher."""
    rows = []
    for arm, found in json.loads((REFERENCE / "mini-rates/rates.json").read_text("utf-8"))["arms"].items():
        model, rule = arm.split("/")
        rates = sorted(map(float, found["rewards"]))
        at = rates.index(found["learning_rate"])
        padded = [found["rewards"][f"{rate:g}"] if rate else {} for rate in (0.0, *rates, 0.0)]  # empty beyond the ends
        near = [_over_seeds(rewards) for rewards in (padded[at + 1], padded[at], padded[at + 2])]
        base = _over_seeds(found["base_rewards"])
        rows.append([model, f"`{rule}`", f"{found['learning_rate']:g}", base, *near])
    return table(["model", "rule", "rate", "base", "reward", "a step lower", "a step higher"], rows)


def replications() -> str:
    """Gates and differences from GRPO on the smaller model, in each of :data:`REPLICATIONS`."""
    differences = {"grpo-replica": "replica", "entropy-20": "20-Entropy", "random-10": "random-10", "ict-10": "ICT-10"}
    compared = "model == 'mini-s' and benchmark == 'average' and metric == 'pass@4'"
    rows = []
    for study in REPLICATIONS:
        tables = REFERENCE / study / "tables"
        gates = pd.read_csv(tables / "validity.csv").query("model == 'mini-s'")
        gates = gates.drop_duplicates("gate").set_index("gate")
        grpo = pd.read_csv(tables / "main.csv").query(f"{compared} and variant == 'grpo'").iloc[0]
        against = pd.read_csv(tables / "contrasts.csv").query(f"{compared} and baseline == 'grpo'")
        against = against.drop_duplicates("variant").set_index("variant")[["difference", "low", "high"]]
        failed = gates.index[gates["outcome"] == "failed"]
        rows.append([
            f"`{study}`", f"{grpo['seeds']}",
            percent_interval(*grpo[["gain", "gain_low", "gain_high"]], signed=True),
            "{:.2f} [{:.2f}, {:.2f}]".format(*gates.loc["kept", ["value", "low", "high"]]),
            *(percent_interval(*against.loc[rule], signed=True) for rule in differences), ", ".join(failed) or "none",
        ])  # fmt: skip
    heads = ["study", "seeds", "gain of GRPO", "kept by random-10", *differences.values(), "gates failed"]
    return table(heads, rows)


def gate_of_the_replica() -> str:
    """How often the replica's gate passes if nothing differs, by seeds and margin, drawn from stored differences."""
    found = []
    for study in BEFORE:
        stored = Stored(REFERENCE / study)
        scores = stored.frame("scores").query("model == 'mini-s'")
        runs = frame_of_arms({"pass@4": arms_of(count_matrices(scores), "pass@4", stored.averaged)})
        found.append(differences_of(runs, "grpo-replica", "grpo", "pass@4")["mini-s"].to_numpy())
    values = np.concatenate(found)
    draw, rows = generator(0, "gate of the replica"), []
    for seeds in (6, 10, 20, 40, 60):
        drawn = over_runs(draw.choice(values - values.mean(), (4000, seeds))).of_difference()
        passed = [(two_one_sided(drawn.mean, drawn.se, drawn.df, -m, m) < ALPHA).mean() for m in (0.02, 0.03, 0.05)]
        rows.append([str(seeds), *(f"{100 * share:.0f} %" for share in passed)])
    spread = f"{len(values)} pairs of runs differ with a standard deviation of {100 * values.std(ddof=1):.1f} points."
    return f"{spread}\n\n{table(['seeds', '±2 points', '±3 points', '±5 points'], rows)}"


def batches() -> str:
    """The gain of GRPO in pass@1 at every batch size, and the share of it that each rule keeps."""
    frame = pd.read_csv(REFERENCE / "mini-batch/tables/batches.csv").query("metric == 'pass@1'")
    rules = {"entropy-20": "20-Entropy", "random-10": "random-10", "ict-10": "ICT-10"}
    rows = []
    for (steps, prompts), sizes in frame.groupby(["steps", "prompts"]):
        arm = sizes.set_index("rule")
        gain = percent_interval(*arm.loc["grpo", ["gain", "gain_low", "gain_high"]], signed=True)
        kept = ["{:.2f} [{:.2f}, {:.2f}]".format(*arm.loc[rule, ["kept", "kept_low", "kept_high"]]) for rule in rules]
        tokens = [f"{arm.loc[rule, 'tokens']:,.0f}" for rule in ("grpo", "random-10")]
        rows.append([f"{prompts} × {steps}", *tokens, gain, *kept])
    heads = ["prompts × steps", "tokens of a step", "a tenth of them", "gain of GRPO", *rules.values()]
    return table(heads, rows)


def paper_readings() -> str:
    """How many of the readings give the paper's figures for the kept tokens, by model and set of prompts."""
    studies = ("readings", "smollm2-readings")
    frame = pd.concat(pd.read_parquet(REFERENCE / study / "readings.parquet") for study in studies)
    rows = []
    for (model, variant), found in frame.groupby(["model", "variant"], sort=False):
        first, second = (found[found["set"] == name] for name in ("first", "second"))
        fits = [f"{int(first[f'{name}_fits'].sum())}" for name in ("probability", "high_share", "elbow")]
        met = [f"{int(part['meets'].sum())}" for part in (first, second)]
        rows.append([f"`{model}` {variant}", f"{len(first)}", f"{first['tokens'].iloc[0]:,}", *fits, *met])
    heads = ["model", "readings", "tokens", "“probability”", "1 : 1", "elbow", "all three", "all three, second set"]
    return table(heads, rows)


def trained_readings() -> str:
    """How the readings of ICT's formula do beside GRPO and as many random tokens."""
    heads = ["own rate", "effective share", "Δ base", "Δ grpo", "Δ random"]
    rows = [[f"`{row['rule']}`", *(row[head] for head in heads)] for row in rows_of_bench("mini-readings")]
    return table(["reading", *heads], rows)


def ablations() -> str:
    """Every variant of the stored ablations: pass@4, what it changes, and its difference from its reference."""
    frame = pd.read_csv(REFERENCE / "mini-ablations/tables/ablations.csv").rename(columns={"value in reference": "old"})
    frame = frame[frame["metric"] == "pass@4"].sort_values("factor", key=pd.isna, ascending=False, kind="stable")
    rows = []
    for row in frame.drop_duplicates("variant", keep="last").itertuples():
        level = percent_interval(row.mean, row.low, row.high)
        gain = percent_interval(row.gain, row.gain_low, row.gain_high, signed=True)
        compared = ["—"] * 4
        if row.variant != row.reference:
            difference = percent_interval(row.difference, row.difference_low, row.difference_high, signed=True)
            compared = [f"`{row.reference}`", f"{row.factor}: {row.old} → {row.value}", difference, row.verdict]
        rows.append([f"`{row.variant}`", level, gain, *compared])
    return table(["variant", "pass@4", "less base", "beside", "changes", "difference", "verdict"], rows)


def score_at_forks() -> str:
    """The share of the known forks in GRPO's rollouts at which ICT's score is 0."""
    tokens = Stored(REFERENCE / "mini-ablations").frame("tokens")
    forks = tokens[(tokens["variant"] == "grpo") & (tokens["fork"] == 1)]
    zero = 100 - round(100 * (forks["js"] > 1e-6).mean())
    text = "ICT's score is 0 at {} % of the forks of GRPO's rollouts, and above 10⁻⁶ nats at the other {} %."
    return text.format(zero, 100 - zero)


def _over_seeds(rewards: dict[str, float]) -> str:
    """The mean over seeds in percent, with their number unless it is four; a dash without rewards."""
    seeds = "" if len(rewards) == 4 else f" ({len(rewards)})"
    return f"{100 * sum(rewards.values()) / len(rewards):.1f}{seeds}" if rewards else "—"


PAGES = {"docs/bench-tables.md": bench_tables}
BLOCKS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"answer": partial(answer, "mini"), "replications": replications},
    "docs/methods.md": {"readings": paper_readings, "trained": trained_readings},
    "docs/statistics.md": {"floors": smallest_p, "seeds": seeds_and_differences},
    "docs/mini-world.md": {
        "rates": chosen_rates,
        "forks": score_at_forks,
        "replications": replications,
        "ablations": ablations,
        "gate": gate_of_the_replica,
        "batches": batches,
    },
    "docs/bench.md": {study: partial(finding, study) for study in BENCHES},
    "docs/real-model.md": {
        "claims": token_claims,
        "training": training_of_a_real_model,
        "power": power_of_a_real_model,
        "transfer": answers_to_published_problems,
    },
}


def with_blocks(page: str, text: str) -> str:
    """A page's text with its blocks rewritten; a KeyError if the text and :data:`BLOCKS` name different blocks."""
    names = re.findall(r"<!-- (\S+): python scripts/blocks\.py -->", text)
    for name in {*names, *BLOCKS[page]}:
        marker = rf"(<!-- {name}: python scripts/blocks\.py -->\n).*?(<!-- end -->)"
        if name not in names:
            raise KeyError(f"{page} has no block {name}")
        block = BLOCKS[page][name]()
        text = re.sub(marker, lambda found, block=block: f"{found[1]}{block}\n{found[2]}", text, flags=re.DOTALL)
    return text


def pages() -> Iterator[tuple[Path, str]]:
    """Each page with the text that it should have."""
    for name, page in PAGES.items():
        yield REPOSITORY / name, page()
    for name in BLOCKS:
        path = REPOSITORY / name
        yield path, with_blocks(name, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
