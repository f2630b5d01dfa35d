"""What a good study resolves to."""

import functools
import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from ict_core.config.comparison import compare
from ict_core.config.inputs import Benchmark, Model
from ict_core.config.load import load_study
from ict_core.config.method_files import load_method, load_methods
from ict_core.config.methods import Training
from ict_core.config.selectors import method_schema
from ict_core.config.study_file import Cell, StudyFile
from ict_core.config.tuning import Tuning
from ict_core.errors import UserError
from ict_core.stages.train import take_over, training_seed
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import file_hashes, read_manifest, write_manifest

PROJECT = Path(__file__).parents[2] / "configs"
STUDIES = sorted(path.stem for path in (PROJECT / "studies").glob("*.yaml"))
project = functools.cache(lambda name: load_study(PROJECT / f"studies/{name}.yaml"))
MINI, PAPER, HUB = "studies/mini.yaml", "studies/paper.yaml", "models/hub-m.yaml"
STAGES = ("train_data", "eval_data", "base", "tune", "train", "generate", "grade", "shadow", "evidence")

OF_BATCH = {"training.prompts_per_step", "training.steps", "training.lr_warmup_steps"}


@pytest.mark.parametrize("name", STUDIES)
def test_variants_of_a_study_of_the_project_differ_in_method_and_seed_and_an_arm_in_its_factor_alone(name):
    study = project(name)
    assert study.name == name
    assert len(study.benchmarks) == 7 or study.name.startswith(("gpu-first", "paper-ablations", "smollm2-"))
    cells = study.cells()
    assert len(cells) == len(set(cells))
    references = {cell.model: study.resolve(cell) for cell in cells}
    for cell in cells:
        resolved, reference = study.resolve(cell), references[cell.model]
        assert resolved["method"]["name"] == cell.variant and resolved["seed"] == cell.seed
        assert resolved.keys() == reference.keys()
        different = {key for key, *_ in compare(reference, resolved).different if not key.startswith("method.")}
        method = study.methods[cell.variant]
        sizes = {"training.group_size", "training.prompts_per_step"} if method.group_size else set()
        sizes |= OF_BATCH if any(other.batch for other in study.methods.values()) else set()
        own_rate = {"training.learning_rate"} if study.rates_of else set()
        assert different <= {"seed", "model.pretraining.seed", "tuning.variant"} | sizes | own_rate
    arms = study.arms()
    assert set(study.methods) - set(arms) <= {study.baselines[0]}
    declared = {variant: arm for variant, arm in arms.items() if arm["factor"]}
    assert declared or name.endswith(("smoke", "readings", "transfer"))
    for variant, arm in declared.items():
        of_group = {"training.group_size", "training.prompts_per_step"}
        follow = {"group_size": of_group, "batch": OF_BATCH}.get(arm["factor"], set())
        keys = {key for key, _, _ in arm["different"]}
        keys -= {"method.warmup_steps"} if arm["factor"] == "batch" else set()
        factor, changed = f"method.{arm['factor']}", {".".join(key.split(".")[:2]) for key in keys}
        assert factor in changed and changed <= {factor} | follow, variant
        assert arm["equal"] > 40


def test_every_file_of_the_project_is_used_and_names_its_origin():
    studies = [project(name) for name in STUDIES]
    for kind in ("models", "methods", "benchmarks"):
        used = {name for study in studies for name in getattr(study, kind)}
        assert used == {path.stem for path in (PROJECT / kind).glob("*.yaml")}
    for path in (PROJECT / "methods").glob("*.yaml"):
        comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
        assert any("arXiv:" in line for line in comments)


def test_every_rule_of_the_project_says_what_it_was_written_from():
    methods = load_methods(PROJECT / "methods")
    assert [name for name, method in methods.items() if method.source is None] == []
    assert (methods["gmts-20"].source, methods["gmts-20-code"].source) == ("paper", "code")
    # as what they vary, but where a file says otherwise
    assert (methods["kl-cov"].source, methods["cispo"].source) == ("code", "summary")
    assert "source" not in methods["cispo"].dump() and "source" not in methods["cispo"].settings()
    of_bench, other = (project(name) for name in ("rules-rates", "mini"))
    assert of_bench.stage_config("evidence")["sources"]["cw-grpo"] == "summary"
    assert "sources" not in other.stage_config("evidence")


def test_every_number_of_every_section_has_both_bounds():
    def numbers(schema, place):
        if isinstance(schema, dict) and schema.get("type") in ("integer", "number"):
            yield place, {key.removeprefix("exclusive").lower() for key in schema}
        parts = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
        for key, part in parts:
            yield from numbers(part, f"{place}.{key}")

    schemas = [TypeAdapter(kind).json_schema() for kind in (StudyFile, Training, Model, Benchmark, method_schema())]
    found = [number for schema in schemas for number in numbers(schema, schema.get("title", ""))]
    assert len(found) > 150
    assert [place for place, keys in found if not {"minimum", "maximum"} <= keys] == []


def test_the_paper_study_is_the_whole_grid():
    paper = project("paper")
    assert len(paper.cells()) == 3 * 5 * 5 + 3 * 5
    assert {model.hub for model in paper.models.values()} == {f"Qwen/Qwen2.5-{size}" for size in ("0.5B", "1.5B", "7B")}
    assert all(not model.allow_unpinned and len(model.stop_ids) == 2 for model in paper.models.values())
    assert list(paper.train_sets) == ["gsm8k-train", "math-train"]
    assert [benchmark.mirrors for benchmark in paper.benchmarks.values()][:2] == ["MATH-500", "GSM8K"]
    assert {paper.methods[variant].warmup for variant in ("ict-10", "random-10")} == {10}
    assert paper.methods["grpo"].warmup == 0


def load(configs, study="mini"):
    return load_study(configs / f"studies/{study}.yaml")


def test_the_hardware_of_a_model_changes_its_micro_batches_and_nothing_else_of_the_recipe(configs):
    paper = load(configs, "paper")
    assert paper.training_of("mini-s") == paper.training
    changed = paper.training_of("hub-m")
    assert changed.micro_batch_sequences == 16 and changed.accumulation_steps(processes=2) == 4
    assert changed.model_copy(update={"micro_batch_sequences": 128}) == paper.training


def test_cells_are_the_grid_in_its_order(configs):
    mini = load(configs)
    cells = mini.cells()
    assert len(cells) == len(set(cells)) == 2 * 5 * 3 + 3 * 3
    assert cells[:4] == [*(Cell("mini-s", "grpo", seed) for seed in range(3)), Cell("mini-s", "entropy-20", 0)]
    assert cells[-1] == Cell("mini-s", "ict-30", 2)
    assert mini.base_cells() == [Cell(model, "base", seed) for model in ("mini-s", "mini-m") for seed in range(3)]


def test_trainings_of_a_seed_begin_with_one_base_model_whatever_the_method(configs):
    study = load(configs)
    bases = {study.base_of(cell) for cell in study.cells() if cell.seed == 2}
    assert bases == {Cell(model, "base", 2) for model in ("mini-s", "mini-m")}
    seeds = [study.base_model(base).pretraining.seed for base in study.base_cells() if base.model == "mini-s"]
    assert seeds[0] == 0 and len(set(seeds)) == 3
    assert study.resolve(Cell("mini-s", "grpo", 2))["model"]["pretraining"]["seed"] == seeds[-1]
    paper = load(configs, "paper")  # of a checkpoint there is one
    assert paper.base_cells() == [*(Cell("mini-s", "base", seed) for seed in range(3)), Cell("hub-m", "base", 0)]
    assert (study.seeds_per_base, paper.seeds_per_base) == (1, None)
    for base, seed in zip(study.base_cells(), seeds, strict=False):
        assert study.stage_config("base", base)["model"]["pretraining"]["seed"] == seed


TUNED = "tuning: {rates: [1.0e-4, 3.0e-4], seeds: [900, 901], shared_rate: true}\nbaselines:"


def test_every_variant_is_tuned_by_the_same_trainings_whose_seeds_and_base_models_nothing_else_has(configs):
    plain, study = load(configs), edited(configs, MINI, "baselines:", TUNED)
    tuning, arms = study.tuning_cells(), {(cell.model, cell.variant) for cell in study.cells()}
    trainings = [(rate, seed) for rate in ("0.0001", "0.0003") for seed in (900, 901)]
    assert set(tuning) == {Cell(model, f"{of}@{rate}", seed) for model, of in arms for rate, seed in trainings}
    assert len(tuning) == len(arms) * len(trainings)
    assert not {cell.seed for cell in tuning} & {cell.seed for cell in study.evaluated_cells()}
    assert not set(study.base_cells(tuning)) & set(study.base_cells([*study.cells(), *study.shared_rate_cells()]))
    assert plain.tuning_cells() == plain.shared_rate_cells() == plain.tuned_arms() == []


def test_seeds_that_tune_never_evaluate_in_a_study_of_the_project():
    tuned = [study for study in map(project, STUDIES) if study.tuning]
    assert {"mini-rates", "mini-again", "mini-again-2", "mini-again-3"} <= {study.name for study in tuned}
    evaluated = {cell.seed for study in map(project, STUDIES) for cell in study.cells()}
    assert not evaluated & {seed for study in tuned for seed in study.tuning.seeds}
    replications = [study.tuning.seeds for study in tuned if study.name.startswith("mini-again")]
    assert len(set(itertools.chain(*replications))) == 3 * 4  # each tunes on seeds of its own


def test_a_replica_has_the_rate_of_what_it_trains_again(configs):
    study = edited(configs, MINI, "baselines:", TUNED)
    study = replace(study, methods=study.methods | {"grpo-rerun": load_method(PROJECT / "methods/grpo-rerun.yaml")})
    block = study.grid[0].model_copy(update={"methods": ("grpo", "grpo-rerun", "ict-10")})
    study = replace(study, grid=(block,))
    assert {variant for _, variant in study.tuned_arms()} == {"grpo", "ict-10"}
    again, first = (Cell(block.models[0], variant, block.seeds[0]) for variant in ("grpo-rerun", "grpo"))
    assert study.is_tuned(again) and study.rate_file(StudyFiles(Path()), again).parent.name == "grpo"
    chosen = study.with_rate(first, 1e-4)
    assert chosen.training_for(again).learning_rate == 1e-4
    assert chosen.resolve(again)["tuning"]["variant"] == "grpo" and "variant" not in chosen.resolve(first)["tuning"]


def test_a_training_that_tunes_may_be_shorter_and_no_other(configs):
    study = edited(configs, MINI, "baselines:", TUNED.replace("901]", "901], steps: 8"))
    tuning, own = study.tuning_cells()[0], study.cells()[0]
    assert study.training_for(tuning).steps == study.resolve(tuning)["training"]["steps"] == 8
    assert study.training_for(own).steps == study.training_for(study.twins(own)[0]).steps == study.training.steps
    full = study.tuned_config(*study.tuned_arms()[0])  # of the cells that train at the rate
    assert full["training"]["steps"] == study.training.steps


def test_a_variant_in_several_blocks_is_tuned_once(configs):
    blocks = "".join(f"  - {{models: [mini-s], methods: [grpo], seeds: [{seed}]}}\n" for seed in range(100, 700))
    seeds = f"tuning: {{rates: [1.0e-4, 3.0e-4], seeds: {list(range(900, 910))}}}\n"
    study = edited(configs, MINI, "baselines: [grpo, entropy-20, stapo]", f"{blocks}{seeds}baselines: [grpo]")
    assert len(study.tuning_cells()) == 2 * 10 * len(study.tuned_arms())  # else above the limit of 10,000


def test_variants_are_compared_on_a_model_that_runs_both(configs):
    (configs / "methods/grpo-8x40.yaml").write_text(
        "of: grpo\nbatch: {prompts_per_step: 8, steps: 40, warmup_steps: 0}\n"
    )
    block = "  - {models: [hub-m], methods: [grpo-8x40], seeds: [0, 1, 2]}\n"
    study = edited(configs, PAPER, "baselines: [grpo, entropy-20, stapo]", f"{block}baselines: [grpo]", "paper")
    different = {key for key, *_ in study.arms()["grpo-8x40"]["different"]}
    assert OF_BATCH - {"training.lr_warmup_steps", "training.steps"} <= different


def test_rounds_ask_for_so_many_trainings_by_hand():
    tuning = Tuning(rates=(1e-4, 3e-4, 9e-4), seeds=(900, 901, 902), extend=True, halving=True)
    assert tuning.first() == [(rate, 900) for rate in (1e-4, 3e-4, 9e-4)]
    assert tuning.seed_counts == (1, 2, 3)
    assert tuning.beyond() == (1.1e-5, 3.3e-5, 2.7e-3, 8.1e-3) and tuning.rounds == 5
    assert len(tuning.later()) == 3 * 2 + 4 * 3  # the other seeds; two rates below or above with every seed
    # 2 x 1, 3 rates x 1 seed, 2 x 1, 2 x 3
    assert "13 more trainings of each of 5 " in tuning.more(5)
    assert Tuning(rates=(1e-4, 3e-4), seeds=(900,)).more(5) == ""
    eight = Tuning(rates=(1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4, 7e-4, 8e-4), seeds=(1, 2, 3, 4), halving=True)
    assert eight.seed_counts == (1, 2, 4) and "8 more" in eight.more(5)  # 4 rates x 1 seed, 2 x 2
    four = Tuning(rates=eight.rates[:4], seeds=eight.seeds, halving=True)
    assert "4 more" in four.more(5)  # 2 rates x 1 seed, 1 x 2
    two = Tuning(rates=four.rates, seeds=four.seeds, halving=True, finalists=2)
    assert "6 more" in two.more(5) and [two.half(rates) for rates in (1, 2, 3, 4, 5)] == [1, 2, 2, 2, 3]  # 2 x 1, 2 x 2


def test_a_tuned_cell_trains_at_the_rate_that_is_chosen_and_differs_from_its_twin_in_nothing_else(configs):
    study = edited(configs, MINI, "baselines:", TUNED)
    cell = Cell("mini-s", "ict-10", 2)
    twin = study.twins(cell)[0]
    assert twin == Cell("mini-s", "ict-10@0.0003", 2) and twin in study.evaluated_cells()
    assert study.is_tuned(cell) and not study.is_tuned(twin) and not study.is_tuned(study.base_of(cell))
    assert study.resolve(cell)["training"]["learning_rate"] is None  # not chosen yet
    chosen = study.with_rate(cell, 1e-4)
    assert chosen.training_of("mini-s", "ict-10").learning_rate == 1e-4
    assert chosen.training_of("mini-s", "grpo").learning_rate == 3e-4  # of another variant nothing is known
    different, _ = compare(study.resolve(twin), chosen.resolve(cell))
    keys = {key for key, *_ in different}
    assert keys == {"method.name", "training.learning_rate", "tuning.rates", "tuning.seeds"}
    assert training_seed(study, cell) == training_seed(study, twin) and study.base_of(cell) == study.base_of(twin)


def test_only_a_twin_is_taken_over_and_by_the_first_rank_alone(configs, tmp_path, monkeypatch):
    study = edited(configs, MINI, "baselines:", TUNED)
    cell = Cell("mini-s", "ict-10", 2)
    (twin,), wanted = study.twins(cell), study.with_rate(cell, 3e-4).resolve(cell)
    for number, trained in enumerate((twin, twin._replace(seed=1))):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "log.txt").write_text("a training's file")
        write_manifest(folder / "manifest.json", {"config": study.resolve(trained), "files": file_hashes(folder)})
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setenv("RANK", "1")
    take_over(tmp_path / "0", wanted, tmp_path / "own")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    monkeypatch.setenv("RANK", "0")
    take_over(tmp_path / "0", wanted, tmp_path / "own")
    assert read_manifest(tmp_path / "own/manifest.json")["taken_over"] == "ict-10@0.0003"
    with pytest.raises(UserError, match="--twin .*: seed is 1; allowed: 2"):
        take_over(tmp_path / "1", wanted, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_configuration_of_every_stage_is_json(configs):
    mini = load(configs)
    for stage in STAGES:
        config = mini.stage_config(stage, mini.cells()[9])
        assert json.loads(json.dumps(config)) == config


def edited(configs: Path, file: str, old: str, new: str, study: str = "mini"):
    text = (configs / file).read_text()
    assert text.count(old) == 1
    (configs / file).write_text(text.replace(old, new))
    return load(configs, study)


def stages_changed(before, after, cell):
    return {stage for stage in STAGES if before.stage_config(stage, cell) != after.stage_config(stage, cell)}


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        (MINI, "samples: 8", "samples: 16", {"generate", "evidence"}),
        (MINI, "mini-stem, mini-aime23]", "mini-stem]", {"eval_data", "generate", "evidence"}),
        (MINI, "margin_points: 2.0", "margin_points: 3.0", {"evidence"}),
        (MINI, "seconds: 5", "seconds: 6", {"grade", "train", "evidence"}),
        (MINI, "train_problems: 2000", "train_problems: 1000", {"train_data", "train", "evidence"}),
        (MINI, "# problems_per_benchmark", "problems_per_benchmark", {"eval_data", "evidence"}),
        (PAPER, "seed: 0\n", "seed: 0\n  mirror: somewhere\n", set()),
        ("data/gsm8k-train.yaml", "Think", "Think hard", {"train_data", "train", "evidence"}),
        # remarks remake nothing
        ("data/gsm8k-train.yaml", "licence: MIT", "licence: mit", {"evidence"}),
        ("data/gsm8k-train.yaml", "source: made up", "source: ours", {"evidence"}),
        ("benchmarks/gsm8k.yaml", "mirrors: GSM8K", "mirrors: GSM-8K", {"evidence"}),
        (HUB, "source: made up", "source: ours", {"evidence"}),
        # a model's change downloads and trains no more than it must
        (HUB, "train_hours: 1", "train_hours: 2", {"evidence"}),
        (HUB, "licence: MIT", "licence: mit", {"evidence"}),
        (HUB, "gradient_checkpointing: true", "gradient_checkpointing: false", {"train", "evidence"}),
        (HUB, "you: ", "YOU: ", {"train", "generate", "evidence"}),
        (HUB, "dtype: bfloat16", "dtype: float32", {"train", "generate", "evidence"}),
        (HUB, "stop_ids: [0, 1]", "stop_ids: [0]", {"base", "train", "evidence"}),
        (HUB, '"a1a1', '"a2a1', {"base", "train", "evidence"}),
        (HUB, f'"{"a1" * 20}"', "main\nallow_unpinned: true", {"base", "train", "evidence"}),
    ],
)
def test_a_change_reaches_only_the_stages_that_it_concerns(configs, file, old, new, changed):
    study = "mini" if file == MINI else "paper"
    before, cell = load(configs, study), Cell("hub-m" if file == HUB else "mini-s", "ict-10", 0)
    assert stages_changed(before, edited(configs, file, old, new, study), cell) == changed


def test_the_answers_of_two_seeds_are_to_the_same_problems(configs):
    mini = load(configs)
    first, other = (mini.stage_config("generate", Cell("mini-s", "ict-10", seed)) for seed in (0, 1))
    assert first | {"seed": 1} == other


def test_another_evaluation_leaves_the_problems_within_reach_as_they_are(configs):
    before = edited(configs, MINI, "  train_problems:", "  within_reach: {samples: 4}\n  train_problems:")
    base = before.base_cells()[0]
    for old, new in (("samples: 8", "samples: 16"), (", mini-aime23]", "]")):
        after = edited(configs, MINI, old, new)
        assert after.stage_config("within_reach", base) == before.stage_config("within_reach", base)
    after = edited(configs, MINI, "samples: 4}", "samples: 5}")
    assert after.stage_config("within_reach", base) != before.stage_config("within_reach", base)


def test_a_selector_change_concerns_its_own_cells_only(configs):
    mini = load(configs)
    other = edited(configs, "methods/ict-20.yaml", "percent: 20", "percent: 21")
    assert {c.variant for c in mini.cells() if mini.resolve(c) != other.resolve(c)} == {"ict-20"}


def test_a_number_with_a_zero_before_it_is_the_same_number(configs):
    assert edited(configs, MINI, "seed: 0\n", "seed: 010\n").data.seed == 10


def test_problems_per_benchmark_replaces_each_benchmarks_own_number(configs):
    assert {b.problems for b in load(configs).benchmarks.values()} == {60}
    each = "problems_of: {mini-stem: 7}\n  problems_per_benchmark: 20"
    other = edited(configs, MINI, "# problems_per_benchmark: 20", each)
    assert [b.problems for b in other.benchmarks.values()] == [20, 20, 7, 20]


def test_published_sets_have_at_most_their_rows(configs):
    paper = load(configs, "paper")
    assert (paper.benchmarks["gsm8k"].drawn, paper.benchmarks["mini-word"].problems) == (3, 60)
    fewer = edited(configs, PAPER, "# problems_per_benchmark: 20", "problems_per_benchmark: 2", "paper")
    assert fewer.benchmarks["gsm8k"].drawn == 2
    more = edited(configs, PAPER, "problems_per_benchmark: 2", "problems_per_benchmark: 20", "paper")
    assert more.benchmarks["gsm8k"].drawn == 3


def test_a_study_s_limits_of_a_job_stand_in_place_of_its_models_and_rerun_nothing(configs):
    before, cell = load(configs, "paper"), Cell("hub-m", "ict-10", 0)
    limits = "job_hours: {train: 0.2, generate: 0.1}\nbaselines:"
    after = edited(configs, PAPER, "baselines:", limits, "paper")
    assert [after.models["hub-m"].hardware.train_hours, after.models["hub-m"].hardware.generate_hours] == [0.2, 0.1]
    assert before.models["hub-m"].hardware.train_hours == 1
    assert stages_changed(before, after, cell) <= {"evidence"}


def test_samples_of_a_benchmark_stand_in_place_of_the_studys(configs):
    evaluation = load(configs, "paper").evaluation
    assert [evaluation.samples_for(name) for name in ("gsm8k", "mini-word")] == [16, 8]


@pytest.mark.parametrize(("written", "exact"), [("7", 7), ("7.1", Fraction(71, 10)), ("'0.1'", Fraction(1, 10))])
def test_percent_is_exact(configs, written, exact):
    method = edited(configs, "methods/ict-20.yaml", "percent: 20", f"percent: {written}").methods["ict-20"]
    assert method.fraction == Fraction(exact) / 100
    assert method.parameters()["fraction"] == method.fraction


@pytest.mark.parametrize("written", ["3e-4", "0.0003", "3.0e-4"])
def test_an_exponent_without_a_point_is_a_number(configs, written):
    study = edited(configs, "training/mini.yaml", "learning_rate: 3.0e-4", f"learning_rate: {written}")
    assert study.training.learning_rate == 3e-4


def test_the_main_figures_show_what_every_model_runs():
    study = project("mini")
    assert study.shared_methods() == ["grpo", "entropy-20", "stapo", "ict-10", "random-10"]


def test_of_many_variants_the_main_figures_show_the_first_that_are_no_controls():
    shown = project("rules").shared_methods()
    assert shown[:4] == ["grpo", "grpo-replica", "oracle-decisions", "entropy-20"] and len(shown) == 16
    assert not any(name.endswith(("-permuted", "-same-sign", "-mean-one")) for name in shown)


def varied(configs: Path, factor: str, value: object):
    """The study with its variant ict-20 made one that differs from ict-10 in a factor."""
    (configs / "methods/ict-20.yaml").write_text(f"of: ict-10\n{factor}: {value}\n")
    return load(configs)


def test_a_variant_has_all_keys_of_what_it_is_of_and_says_by_which_it_differs(configs):
    (configs / "methods/ict-20.yaml").write_text("of: ict-5\ncontrol: permuted-group\n")  # itself of ict-10
    methods = load(configs).methods
    for variant, varied, factor in (("ict-5", "ict-10", "percent"), ("ict-20", "ict-5", "control")):
        assert methods[variant].ablation.model_dump() == {"of": varied, "factor": factor}
        different = compare(methods[varied].settings(), methods[variant].settings()).different
        assert [key for key, *_ in different] == [factor]


def test_a_group_size_of_its_own_makes_as_many_rollouts_a_step(configs):
    study = varied(configs, "group_size", 4)
    own, shared = study.training_of("mini-s", "ict-20"), study.training_of("mini-s", "ict-10")
    assert (own.group_size, own.prompts_per_step, own.sequences_per_step) == (4, 32, shared.sequences_per_step)
    assert shared == study.training_of("mini-s") == study.training


@pytest.mark.parametrize(("replica", "same"), [(1, False), (0, True)])
def test_a_replica_draws_other_numbers_and_a_rerun_the_same_and_all_else_is_equal(configs, replica, same):
    study = varied(configs, "replica", replica)
    first, other = Cell("mini-s", "ict-10", 1), Cell("mini-s", "ict-20", 1)
    assert training_seed(study, first) == 1 and (training_seed(study, other) == 1) == same
    assert study.methods["ict-20"].parameters() == study.methods["ict-10"].parameters()
    assert [key for key, *_ in study.compare("ict-10", "ict-20").different] == ["method.replica"]


def test_what_a_method_is_compared_with_retrains_nothing(configs):
    mini = load(configs)
    whole = (configs / "methods/ict-10.yaml").read_text().replace("score: js", "score: random")
    other = edited(configs, "methods/random-10.yaml", "of: ict-10\nscore: random\n", whole)
    assert (mini.methods["random-10"].ablation.of, other.methods["random-10"].ablation) == ("ict-10", None)
    assert all(mini.resolve(cell) == other.resolve(cell) for cell in mini.cells())


def test_how_a_training_is_kept_and_watched_retrains_nothing(configs):
    before = load(configs)
    (configs / "training/mini.yaml").open("a").write("checkpoint_every: 7\ncheckpoints_kept: 1\n")
    after = edited(configs, MINI, "scale: mini", "trackers: [wandb]\nscale: mini")
    assert (before.training.checkpoint_every, before.training.checkpoints_kept, before.trackers) == (None, 2, ())
    assert (after.training.checkpoint_every, after.training.checkpoints_kept, after.trackers) == (7, 1, ("wandb",))
    for cell in after.cells():
        assert before.stage_config("train", cell) == after.stage_config("train", cell)
    assert before.stage_config("evidence") == after.stage_config("evidence")


def test_what_is_recorded_concerns_the_trainings_of_evaluated_cells_alone(configs):
    before = edited(configs, MINI, "baselines:", TUNED)
    keys = "learning_curve: {every: 8, problems: 9, samples: 1}\nrollouts_mib: 64\ntuning:"
    after = edited(configs, MINI, "tuning:", keys)
    asked = {"learning_curve": {"every": 8, "problems": 9, "samples": 1, "benchmarks": None}, "keep_rollouts": True}
    for cell in [*after.cells(), *after.shared_rate_cells()]:
        assert after.resolve(cell) == before.resolve(cell) | asked
    for cell in after.tuning_cells():
        assert after.resolve(cell) == before.resolve(cell)
    for model, variant in after.tuned_arms():
        assert after.tuned_config(model, variant) == before.tuned_config(model, variant)
    assert after.compare("grpo", "ict-10").different == before.compare("grpo", "ict-10").different
    assert stages_changed(before, after, after.cells()[9]) == {"train", "evidence"}


def test_a_warm_up_of_its_own_stands_before_the_studys(configs):
    methods = varied(configs, "warmup_steps", 9).methods
    assert [methods[v].warmup for v in ("ict-20", "ict-10", "random-10", "grpo")] == [9, 5, 5, 0]


def test_a_variant_that_is_only_varied_and_not_trained_limits_no_study(configs):
    (configs / "methods/ict-20.yaml").write_text("of: ict-10\nwarmup_steps: 0\n")
    text = (configs / MINI).read_text().replace("selection_warmup_steps: 5\n", "")
    grid, baselines = "grid: [{models: [mini-s], methods: [grpo, ict-20], seeds: [0]}]\n", "baselines: [grpo]\n"
    (configs / MINI).write_text(text.partition("grid:")[0] + grid + baselines)
    assert list(load(configs).methods) == ["grpo", "ict-20"]  # ict-10 has no warm-up of its own
    ict = configs / "methods/ict-10.yaml"
    ict.write_text(ict.read_text() + "warmup_steps: 0\ngroup_size: 7\n")
    (configs / "methods/ict-20.yaml").write_text("of: ict-10\ngroup_size: 4\n")
    assert load(configs).methods["ict-20"].group_size == 4
    (configs / "methods/ict-20.yaml").write_text("of: ict-10\npercent: 20\n")  # has the 7 of ict-10
    with pytest.raises(UserError, match=r"methods/ict-20\.yaml: group_size: 7 "):
        load(configs)


def test_every_reading_of_the_specification_is_a_variant():
    study = project("mini-ablations")
    values: dict[str, set[str]] = {}
    for arm in study.arms().values():
        for key, of, value in arm["different"] if arm["factor"] else []:
            values.setdefault(key, set()).update({str(of), str(value)})
    assert values["method.percent"] == {"5", "10", "20", "30", "50"}
    assert values["method.score"] == {"js", "kl", "tv", "wasserstein", "h1", "h2", "surprise", "random"}
    assert values["method.reference"] == {"position", "leave-one-out", "sequence", "group"}
    assert values["method.scope"] == {"sequence", "group", "batch"}
    assert values["method.warmup_steps"] == {"0", "5", "10", "20"}  # 40 where there are as many steps
    assert values["training.group_size"] == {"4", "8", "16"}
    assert values["method.normaliser"] == {"kept", "response"}
    assert values["method.tau_h"] == {"0.2", "0.8"}
    assert values.keys() >= {"method.keep", "method.random_reward", "method.replica"}
    paper = project("paper-ablations")
    assert paper.methods["ict-10-w40"].warmup == 40 and paper.methods["ict-10"].warmup == 10


def test_the_first_base_model_is_that_of_the_lowest_number():
    assert project("mini").first_base("mini-s") == Cell("mini-s", "base", 0)
    assert project("mini-again").first_base("mini-s") == Cell("mini-s", "base", 100)


def test_a_batch_of_its_own_changes_prompts_steps_and_both_warm_ups_and_nothing_else():
    study = project("mini-batch")
    own, plain = study.training_of("mini-s", "ict-10-64x24"), study.training_of("mini-s", "ict-10")
    assert (own.prompts_per_step, own.steps, own.lr_warmup_steps) == (64, 24, 3)
    assert own.prompts_per_step * own.steps == plain.prompts_per_step * plain.steps
    same = {"prompts_per_step": 32, "steps": 48, "lr_warmup_steps": plain.lr_warmup_steps}
    assert own.model_copy(update=same) == plain
    assert (study.methods["ict-10-64x24"].warmup, study.methods["ict-10"].warmup) == (3, 5)
    assert study.methods["grpo-64x24"].warmup == 0  # which trains every token
