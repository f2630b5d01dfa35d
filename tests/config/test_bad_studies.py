"""Bad input: one line a problem, with file, key, value and what is allowed."""
# ruff: noqa: E501

import json

import pytest

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.errors import UserError
from ict_core.store.layout import RESERVED

MINI, TRAINING, ICT = "studies/mini.yaml", "training/mini.yaml", "methods/ict-10.yaml"
ICT20 = "methods/ict-20.yaml"
PAPER, STEM, GSM8K = "studies/paper.yaml", "benchmarks/mini-stem.yaml", "benchmarks/gsm8k.yaml"
TRAIN_SET, HUB, VLLM = "data/gsm8k-train.yaml", "models/hub-m.yaml", "training/vllm.yaml"
OF_PAPER = (PAPER, GSM8K, TRAIN_SET, HUB, VLLM)
QUESTION = "  power: 0.8\n  primary: {metric: pass@1, comparisons: "
TUNED = "tuning: {rates: [1.0e-4, 3.0e-4], seeds: [900]}\n"
HARDWARE = (
    "hardware: {accelerate: ddp, gpus: 2, micro_batch_sequences: 16, gradient_checkpointing: true,\n"
    "  memory_gib: 16, train_hours: 1, generate_hours: 0.5}\n"
)
START = "supervised_start: {problems: 8, batch_sequences: 4, learning_rate: 1.0e-4, seed: 0}\ndtype:"
VALIDITY = (
    "  power: 0.8\n  validity: {baseline: grpo, replica: grpo-replica, random: random-10, oracle: oracle-decisions,\n"
    "    oracle_control: oracle-decisions-permuted, gain_points: 15, gain_lower_points: 10, ceiling_percent: 100,\n"
    "    below_ceiling_points: 10, kept_share: 0.7, kept_share_lower: 0.5, compared: pass@4, headroom_points: 5}"
)
BLOCK_2 = "models: [mini-s]\n    methods: [ict-5, ict-20, ict-30]\n    seeds: [0, 1, 2]"

CASES = {
    "unknown method": (MINI, "ict-10,", "ict-11,", "grid[0].methods[3]", "'ict-11'", "stapo"),
    "unknown model": (MINI, "[mini-s, mini-m]", "[mini-s, mini-l]", "grid[0].models[1]", "'mini-l'", "mini-m"),
    "missing benchmark": (MINI, "mini-stem,", "mini-mmlu,", "benchmarks[2]", "'mini-mmlu'", "mini-word"),
    "unknown training": (MINI, "training: mini", "training: maxi", "training", "'maxi'", "smoke"),
    "reserved name": (MINI, "[grpo, entropy-20, stapo, ict", "[base, grpo, entropy-20, stapo, ict", "grid[0].methods[0]", "'base'"),
    "threshold 120": (ICT, "percent: 10", "percent: 120", "percent", "120"),
    "beyond all numbers": (MINI, "margin_points: 2.0", "margin_points: 1.0e999", "1.0e999", "line"),
    "a share of countless digits": (ICT, "percent: 10", "percent: '1e-999999999'", "percent", "'1e-999999999'", "30 digits"),
    "threshold is not finite": (ICT, "percent: 10", "percent: .nan", "percent", "nan"),
    "unknown selector": (ICT, "selector: top-score", "selector: top-scores", "selector", "'top-scores'", "stapo"),
    "no selector": (ICT, "selector: top-score\n", "", "selector", "stapo"),
    "warm-up never ends": (ICT, "score: js", "score: js\nwarmup_steps: 40", "warmup_steps", "40", "'mini'"),
    "typo in a method": (ICT, "score: js", "score: js\nwarmup_step: 5", "warmup_step", "5", "warmup_steps"),
    "shows what is not run": (MINI, "baselines:", "shown: [grpo, ict-11]\nbaselines:", "shown[1]", "'ict-11'"),
    "no warm-up": (MINI, "selection_warmup_steps: 5\n", "", "selection_warmup_steps", "random-10"),
    "reference without a distribution": (ICT, "score: js", "score: h1\nreference: group", "reference"),
    "a source of no kind": (ICT, "selector: top-score", "source: rumour\nselector: top-score", "source", "'rumour'", "summary"),
    "a source and no factor": (ICT20, "percent: 20", "source: code", "of", "'ict-10'", "none"),
    "ties of a padded length": (ICT, "score: js", "score: js\nscope: padded\nthreshold: ties", "threshold", "'ties'"),
    "a bonus beside a choice of tokens": (ICT, "score: js", "score: js\nentropy_bonus: {coefficient: 0.1}", "entropy_bonus"),
    "group size": (ICT, "score: js", "score: js\ngroup_size: 7", "group_size", "7"),
    "a batch that only warms up": (ICT20, "percent: 20", "batch: {prompts_per_step: 8, steps: 4, warmup_steps: 4}", "batch.warmup_steps", "4"),
    "a curve of one point": (MINI, "baselines:", "learning_curve: {every: 49, problems: 9, samples: 1}\nbaselines:", "learning_curve.every", "49", "40"),
    "a curve of another benchmark": (MINI, "baselines:", "learning_curve: {every: 8, problems: 9, samples: 1, benchmarks: [gsm8k]}\nbaselines:", "learning_curve.benchmarks[0]", "'gsm8k'", "mini-word"),
    "limits of jobs that no model reads": (MINI, "baselines:", "job_hours: {train: 1, generate: 1}\nbaselines:", "job_hours", "`hardware`"),
    "fewer problems than a step has prompts": (MINI, "train_problems: 2000", "train_problems: 1", "data", "1", "at least 16"),
    "no room for rollouts": (MINI, "baselines:", "rollouts_mib: 1\nbaselines:", "rollouts_mib", "1"),
    "a rate that no folder can be named by": (TRAINING, "learning_rate: 3.0e-4", "learning_rate: 3.1234567e-4", "learning_rate", "0.00031234567", "six"),
    "two factors": (ICT20, "percent: 20", "percent: 20\nscore: kl", "of", "'ict-10'", "percent, score"),
    "no factor": (ICT20, "percent: 20\n", "", "of", "'ict-10'"),
    "as what it varies": (ICT20, "percent: 20", "percent: 10", "percent", "10"),
    "another rule": (ICT20, "percent: 20", "selector: grpo", "selector", "'grpo'", "percent, random_reward"),
    "varies nothing known": (ICT20, "of: ict-10", "of: ../methods/ict-11", "of", "'../methods/ict-11'", "ict-20"),
    "varies itself": (ICT20, "of: ict-10", "of: ict-20", "of", "'ict-20'"),
    "a factor's value": (ICT20, "percent: 20", "percent: 200", "percent", "200"),
    "a declared factor": (ICT, "score: js", "score: js\nablation: {of: grpo, factor: score}", "ablation"),
    "gates of one arm twice": (MINI, "  power: 0.8", VALIDITY.replace("replica: grpo-replica", "replica: grpo"), "evidence.validity.replica", "'grpo'", "baseline"),
    "a gate of no method": (MINI, "  power: 0.8", VALIDITY.replace("replica: grpo-replica", "replica: grpo-replcia"), "evidence.validity.replica", "'grpo-replcia'"),
    "a control of a rule that keeps every token": (ICT20, None, "of: grpo\ncontrol: permuted-batch\n", "control", "'permuted-batch'", "'grpo' keeps every token"),
    "a control of no rule": (ICT, "score: js", "score: js\ncontrol: permuted-batch", "control", "'permuted-batch'", "`of`"),
    "a group size that is the recipe's": (ICT20, "percent: 20", "group_size: 8", "group_size", "8", "another value"),
    "a batch that is the recipe's": (ICT20, None, "of: grpo\nbatch: {prompts_per_step: 16, steps: 40, warmup_steps: 0}\n", "batch", "another value"),
    "more problems than a set has": (PAPER, "# problems_per_benchmark: 20", "problems_of: {gsm8k: 4}", "data.problems_of.gsm8k", "4", "3"),
    "a mirror's file for two configs": (GSM8K, "configs: [main]", "configs: [main, socratic]\nmirror_copy: {hub: A/b, config: main, split: test, columns: [id]}", "mirror_copy"),
    "a highest weight without its form": (ICT, None, "selector: steer\nform: exponential\nlowest: 0.8\nhighest: 2.0\nnormaliser: response\n", "highest", "2.0", "exponential"),
    "samples between rollouts": (TRAINING, "token_sample_every: 10", "token_sample_every: 15\nupdates_per_rollout: 2", "token_sample_every", "15", "multiple"),
    "baselines twice": (MINI, "baselines: [grpo,", "baselines: [grpo, grpo,", "baselines", "twice"),
    "fewer tokens than bytes": ("models/mini-s.yaml", "vocab_size: 512", "vocab_size: 100", "architecture.vocab_size", "100", "258"),
    "no room for a prompt": ("models/mini-s.yaml", "max_positions: 256", "max_positions: 112", "architecture.max_positions", "112", "112 new tokens"),
    "a replica of another kind": (MINI, "  power: 0.8", VALIDITY.replace("replica: grpo-replica", "replica: stapo"), "evidence.validity.replica", "'stapo'", "of: grpo"),
    "a baseline that selects": (MINI, "  power: 0.8", VALIDITY.replace("baseline: grpo,", "baseline: entropy-20,"), "evidence.validity.baseline", "'entropy-20'", "every token"),
    "random tokens that are none": (MINI, "  power: 0.8", VALIDITY.replace("random: random-10", "random: ict-10"), "evidence.validity.random", "'ict-10'", "at random"),
    "a control of another kind": (MINI, "  power: 0.8", VALIDITY.replace("oracle-decisions-permuted", "entropy-20"), "evidence.validity.oracle_control", "'entropy-20'", "control"),
    "a benchmark that a table would mix up": (MINI, "[mini-word,", "[average,", "benchmarks[0]", "'average'"),
    "nothing shown": (MINI, "baselines:", "shown: []\nbaselines:", "shown", "[]"),
    "a tracker twice": (MINI, "baselines:", "trackers: [wandb, wandb]\nbaselines:", "trackers", "twice"),
    "more within reach than there are": (MINI, "  train_problems:", "  within_reach: {samples: 4, problems: 100000}\n  train_problems:", "data.within_reach.problems", "100000"),
    "gates without a baseline": (MINI, "  power: 0.8", VALIDITY.replace("baseline: grpo,", "baseline: grpp,"), "evidence.validity.baseline", "'grpp'"),
    "a question about no method": (MINI, "  power: 0.8", f"{QUESTION}[[ict-10, grpp]]}}", "evidence.primary.comparisons[0][1]", "'grpp'"),
    "a question asked twice": (MINI, "  power: 0.8", f"{QUESTION}[[ict-10, grpo], [grpo, ict-10]]}}", "evidence.primary.comparisons[1]", "'ict-10'"),
    "a question about one method": (MINI, "  power: 0.8", f"{QUESTION}[[grpo, grpo]]}}", "evidence.primary.comparisons[0]", "'grpo'"),
    "a lower limit above its bound": (MINI, "  power: 0.8", VALIDITY.replace("gain_lower_points: 10", "gain_lower_points: 16"), "evidence.validity.gain_lower_points", "16"),
    "no room below the ceiling": (MINI, "  power: 0.8", VALIDITY.replace("ceiling_percent: 100", "ceiling_percent: 10"), "evidence.validity.below_ceiling_points", "10"),
    "n < k": (MINI, "samples: 8", "samples: 2", "evaluation.samples", "2"),
    "unknown engine": (MINI, "engine: vllm", "engine: sglang", "evaluation.engine", "'sglang'", "transformers"),
    "typo in a key": (MINI, "  samples: 8", "  sampels: 8", "evaluation.sampels", "8", "samples"),
    "typo at the top": (MINI, "baselines:", "baseline:", "baseline", "baselines"),
    "number as a text": (MINI, "samples: 8", "samples: '8'", "evaluation.samples", "'8'"),
    "scalar for a list": (MINI, "baselines: [grpo, entropy-20, stapo]", "baselines: grpo", "baselines", "'grpo'"),
    "scalar for a mapping": (MINI, "\n  seed: 0\n  train_problems: 2000\n  # problems_per_benchmark: 20", " 7", "data", "7"),
    "duplicate key": (MINI, "  samples: 8", "  samples: 8\n  samples: 9", "samples", "line 15"),
    "key is no text": (MINI, "  samples: 8", "  7: 8", "evaluation.7"),
    "no seed": (MINI, "ict-30]\n    seeds: [0, 1, 2]", "ict-30]\n    seeds: []", "grid[1].seeds", "[]"),
    "tunes on a seed that evaluates": (MINI, "baselines:", f"{TUNED.replace('900', '2')}baselines:", "tuning.seeds[0]", "2"),
    "a shortened training that is none": (MINI, "baselines:", f"{TUNED.replace('}', ', steps: 40}')}baselines:", "tuning.steps", "40"),
    "halving of one seed": (MINI, "baselines:", f"{TUNED.replace(', 901', '').replace('}', ', halving: true}')}baselines:", "tuning.seeds", "[900]"),
    "finalists without halving": (MINI, "baselines:", f"{TUNED.replace('}', ', finalists: 2}')}baselines:", "tuning.finalists", "2"),
    "more finalists than rates": (MINI, "baselines:", f"{TUNED.replace('}', ', halving: true, finalists: 4}')}baselines:", "tuning.finalists", "4"),
    "rates of its own and stored ones": (MINI, "baselines:", f"{TUNED}rates_of: mini-rates\nbaselines:", "rates_of", "'mini-rates'"),
    "rates of no stored study": (MINI, "baselines:", "rates_of: mini-rates\nbaselines:", "rates_of", "'mini-rates'"),
    "a GPU's numerics on a CPU": (MINI, "baselines:", "numerics: deterministic\nbaselines:", "numerics", "'deterministic'"),
    "one rate": (MINI, "baselines:", f"{TUNED.replace('1.0e-4, ', '')}baselines:", "tuning.rates", "[0.0003]"),
    "a rate of many digits": (MINI, "baselines:", f"{TUNED.replace('1.0e-4', '1.2345678e-4')}baselines:", "tuning.rates[0]", "0.00012345678"),
    "rates too near for two beyond them": (MINI, "baselines:", f"{TUNED.replace('3.0e-4', '1.01e-4').replace('}', ', extend: true}')}baselines:", "tuning.rates", "[0.0001, 0.000101]", "extend"),
    "a variant at a rate": (MINI, "ict-10,", "ict-10@0.0001,", "grid[0].methods[3]", "'ict-10@0.0001'"),
    "cell twice": (MINI, BLOCK_2, BLOCK_2.replace("ict-5", "ict-10"), "grid[1]", "mini-s/ict-10/seed 0"),
    "baseline not in the grid": (MINI, "baselines: [grpo,", "baselines: [ict-5,", "baselines[0]", "'ict-5'", "[0, 1, 2]"),
    "baseline lacks a seed": (MINI, "ict-30]\n    seeds: [0, 1, 2]", "ict-30]\n    seeds: [3]", "baselines[2]", "'stapo'", "[3]"),
    "a copy's old name": (MINI, "study: mini", "study: smoke", "study"),
    "micro-batch": (TRAINING, "micro_batch_sequences: 128", "micro_batch_sequences: 48", "micro_batch_sequences", "48", "128"),
    "rate's warm-up": (TRAINING, "lr_warmup_steps: 0", "lr_warmup_steps: 50", "lr_warmup_steps", "50"),
    "heads": ("models/mini-s.yaml", ", heads: 2", ", heads: 3", "architecture.heads", "3"),
    "key-value heads": ("models/mini-m.yaml", "kv_heads: 2", "kv_heads: 3", "architecture.kv_heads", "3"),
    "unknown kind": ("models/mini-s.yaml", "kind: pretrained-from-scratch", "kind: hubb", "kind", "'hubb'", "hub"),
    "model on a branch": (HUB, f'"{"a1" * 20}"', "main", "revision", "'main'"),
    "stop id beyond": (HUB, "stop_ids: [0, 1]", "stop_ids: [0, 512]", "stop_ids", "[512]"),
    "template without prompt": (HUB, "user: {prompt}", "user:", "prompt.template", "{prompt} once"),
    "model's micro-batch": (HUB, "gpus: 2", "gpus: 3", "hardware.micro_batch_sequences", "48", "'vllm'"),
    "launcher": (HUB, "accelerate: ddp", "accelerate: one-gpu", "hardware.accelerate", "'one-gpu'"),
    "samples of a stranger": (PAPER, "{gsm8k: 16}", "{gsm: 16}", "evaluation.samples_of.gsm", "gsm8k"),
    "problems of a stranger": (MINI, "# problems_per_benchmark: 20", "problems_of: {mini-stam: 7}", "data.problems_of.mini-stam"),
    "samples of no name": (PAPER, "{gsm8k: 16}", "{GSM8K!: 16}", "evaluation.samples_of.GSM8K!"),
    "few samples of one": (PAPER, "{gsm8k: 16}", "{gsm8k: 3}", "evaluation.samples_of.gsm8k", "3"),
    "no memory share": (VLLM, "  memory_share: 0.4\n", "", "rollouts.memory_share"),
    "server beside": (VLLM, "  sleep: true", "  sleep: true\n  server: http://a:1", "rollouts.server", "'http://a:1'"),
    "no server": (VLLM, "colocate\n  memory_share: 0.4\n  sleep: true", "server", "rollouts.server"),
    "password": (VLLM, "colocate\n  memory_share: 0.4\n  sleep: true", "server\n  server: http://me:key@host:1", "rollouts.server"),
    "benchmark's name": ("benchmarks/mini-stem.yaml", "name: mini-stem", "name: mini-word", "name", "'mini-word'", "'mini-stem'"),
    "benchmark's answers": ("benchmarks/mini-stem.yaml", "answer_type: choice", "answer_type: math", "answer_type", "'math'"),
    "revision cut short": (TRAIN_SET, f'"{"a1" * 20}"', "a1a1a1a", "revision", "'a1a1a1a'"),
    "hash is no hash": (GSM8K, f'"{"b2" * 32}"', "b2b2", "sha256", "'b2b2'"),
    "hash null though open": (GSM8K, f'"{"b2" * 32}"', "null", "sha256", "null"),
    "unknown reader": (GSM8K, "reader: gsm8k", "reader: gsm", "reader", "'gsm'", "math-500"),
    "config twice": (GSM8K, "configs: [main]", "configs: [main, main]", "configs"),
    "prompt without question": (GSM8K, "{question} Think", "Think", "prompt.template", "'Think.'", "{question} once each"),
    "prompt with options": (GSM8K, "{question} Think", "{question} {options}", "prompt.template", "{question} once each"),
    "more problems than rows": (GSM8K, "rows: 3", "rows: 3\nproblems: 4", "problems", "4"),
    "mirror's columns": (GSM8K, "rows: 3", "rows: 3\nmirror_copy: {hub: a/b, config: c, split: d}", "mirror_copy.columns"),
    "unknown kind of training set": (TRAIN_SET, "name: gsm8k-train", "kind: made\nname: gsm8k-train", "kind", "'made'", "generator"),
    "published name": (TRAIN_SET, "name: gsm8k-train", "name: gsm8k", "name", "'gsm8k'", "'gsm8k-train'"),
    "unknown training set": (PAPER, "[gsm8k-train]", "[gsm8k-trian]", "data.train_sets[0]", "'gsm8k-trian'", "gsm8k-train"),
    "more than the training sets have": (PAPER, "train_sets:", "train_problems: 31\n  train_sets:", "data.train_problems", "31"),
    "start of a part of a batch": (HUB, "dtype:", "supervised_start: {problems: 10, batch_sequences: 4, learning_rate: 1.0e-4, seed: 0}\ndtype:", "supervised_start.batch_sequences", "4"),
    "bfloat16 on a CPU": (HUB, HARDWARE, "", "dtype", "'bfloat16'"),
    "nothing to train on": (PAPER, "train_sets: [gsm8k-train]", "mirror: x", "data.train_problems"),
    "a number to the base of sixty": (MINI, "ict-30]\n    seeds: [0, 1, 2]", "ict-30]\n    seeds: [1:30]", "grid[1].seeds[0]", "'1:30'"),
    "trainings for years": (MINI, BLOCK_2, BLOCK_2.replace("[0, 1, 2]", str(list(range(3400)))), "grid", "10230", "10000"),
    "rates beyond all": (MINI, "baselines:", f"{TUNED.replace('1.0e-4', '1e-9').replace('}', ', extend: true}')}baselines:", "tuning.rates", "1e-09"),
    "empty text": (MINI, "study: mini\nnote: >-", "study: mini\nnote: ''\nx: >-", "note", "''"),
}  # fmt: skip


def generated(package, *generators) -> tuple[str, None, str]:
    text = f"kind: generator\nname: gsm8k-train\npackage: {package}\nversion: 0.1.25\nlicence: MIT\nseed: 0\nrows: 1\n"
    text += f"generators: [{', '.join(generators)}]\nanswer_type: number\nsha256: {'a' * 64}\n"
    return TRAIN_SET, None, text + 'prompt: {template: "{question}", source: made up}\n'


TWO_UPDATES = (TRAINING, "\nsteps: 40 ", "\nupdates_per_rollout: 2\nsteps: 40 ")
SEVERAL = {  # a study, changes that do not go together, the place that is named, and what else the line has
    "a warm-up within a rollout batch": (MINI, [TWO_UPDATES], f"{ICT}: warmup_steps", "5", "2 updates"),
    "a shortened training within one": (MINI, [TWO_UPDATES, (MINI, "warmup_steps: 5", "warmup_steps: 4"), (MINI, "baselines:", f"{TUNED.replace('}', ', steps: 21}')}baselines:")], f"{MINI}: tuning.steps", "21"),
    "a batch of a part of a micro-batch": (MINI, [(ICT20, "percent: 20", "batch: {prompts_per_step: 3, steps: 48, warmup_steps: 5}")], f"{MINI}: grid", "mini-s with ict-20: micro_batch_sequences", "24"),
    "a variant's batch and a model's GPUs": (PAPER, [(ICT, "percent: 10", "percent: 10\nbatch: {prompts_per_step: 6, steps: 40, warmup_steps: 5}")], f"{PAPER}: grid", "gpus * micro_batch_sequences = 32", "48", "hub-m with ict-10"),
    "a batch that the group size of what it varies does not fit": (MINI, [(ICT20, None, "of: ict-10\ngroup_size: 16\n"), ("methods/ict-30.yaml", None, "of: ict-20\nbatch: {prompts_per_step: 5, steps: 40, warmup_steps: 5}\n"), (TRAINING, "sequences: 128", "sequences: 8")], "methods/ict-30.yaml: group_size", "16", "40"),
    "tuning within the warm-up of a batch": (MINI, [(ICT20, "percent: 20", "batch: {prompts_per_step: 16, steps: 40, warmup_steps: 12}"), (MINI, "baselines:", f"{TUNED.replace('}', ', steps: 12}')}baselines:")], f"{MINI}: tuning.steps", "12", "13 (after"),
    "a shortened tuning of methods without a file": (MINI, [(MINI, "[grpo, entropy-20, stapo, ict-10, random-10]", "[gpro]"), (MINI, "[ict-5, ict-20, ict-30]", "[itc-5]"), (MINI, "baselines: [grpo, entropy-20, stapo]", f"{TUNED.replace('}', ', steps: 20}')}baselines: [gpro]")], f"{MINI}: grid[0].methods[0]", "'gpro'"),
    "a variant's batch and a model's micro-batch": (PAPER, [(VLLM, "sequences: 128", "sequences: 8"), (ICT, "percent: 10", "percent: 10\nbatch: {prompts_per_step: 3, steps: 40, warmup_steps: 5}")], f"{PAPER}: grid", "hub-m with ict-10", "micro_batch_sequences: 16 "),
    "no room for a prompt in a checkpoint": (PAPER, [(HUB, "max_positions: 256", "max_positions: 112")], f"{HUB}: architecture.max_positions", "112", "112 new tokens"),
    "adapters are sharded": (PAPER, [(VLLM, "rollouts:", "lora: {rank: 8, alpha: 16}\nrollouts:"), (HUB, "ddp", "fsdp2")], f"{HUB}: hardware.accelerate", "'fsdp2'", "one-gpu or ddp"),
    "a start without a training set": (PAPER, [(HUB, "dtype:", START), (PAPER, "train_sets: [gsm8k-train]", "train_problems: 16")], f"{PAPER}: data.train_sets", "missing", "hub-m"),
    "a question of one pair": (MINI, [(MINI, "  power: 0.8", f"{QUESTION}[[grpo, ict-10], [ict-5, grpo]]}}"), (MINI, BLOCK_2, BLOCK_2.replace("[0, 1, 2]", "[0]"))], f"{MINI}: evidence.primary.comparisons[1]", "ict-5"),
    "a start on generated problems": (PAPER, [(HUB, "dtype:", START), generated("reasoning-gym", "{dataset: arithmetic.lcm}")], f"{PAPER}: data.train_sets", "['gsm8k-train']"),
    "a generator's own seed": (PAPER, [generated("reasoning-gym", "{options: {seed: 1, min_terms: 2}, dataset: arithmetic.chain_sum}")], f"{TRAIN_SET}: generators[0].options.seed"),
    "no generator of ours": (PAPER, [generated("ict-core", "{dataset: one_step.plus}", "{dataset: one_step.minos}")], f"{TRAIN_SET}: generators[1].dataset"),
    "fewer rows than generators": (PAPER, [generated("reasoning-gym", "{dataset: arithmetic.lcm}", "{dataset: arithmetic.gcd}")], f"{TRAIN_SET}: rows"),
}  # fmt: skip
SEVERAL |= {
    name: (PAPER if file in OF_PAPER else MINI, [(file, old, new)], f"{file}: {key}", *values)
    for name, (file, old, new, key, *values) in CASES.items()
}


def test_a_mistyped_kind_is_one_line(configs, edit):
    edit(*generated("reasoning-gym", "{dataset: arithmetic.lcm}"))
    edit(TRAIN_SET, "kind: generator", "kind: generatr")
    (line,) = message_of(configs, PAPER).splitlines()
    assert line == f"configs/{TRAIN_SET}: kind: 'generatr' is not allowed; allowed: published, generator"


def message_of(configs, study=MINI) -> str:
    with pytest.raises(UserError) as caught:
        load_study(configs / study)
    return str(caught.value)


@pytest.mark.parametrize("case", SEVERAL)
def test_a_problem_is_one_line_with_file_key_value_and_what_is_allowed(configs, edit, case):
    study, changes, place, *values = SEVERAL[case]
    for change in changes:
        edit(*change)
    lines = message_of(configs, study).splitlines()
    assert any(line.startswith(f"configs/{place}: ") and all(v in line for v in values) for line in lines), lines
    assert all("allowed: " in line and line.startswith("configs/") for line in lines)


@pytest.mark.parametrize("name", RESERVED)
def test_a_folder_of_the_projects_own_is_no_studys(configs, name, capsys):
    file = configs / f"studies/{name}.yaml"
    file.write_text((configs / "studies/mini.yaml").read_text().replace("study: mini", f"study: {name}"))
    assert main(["check", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{file}: study: '{name}' is not allowed; allowed: " in line and RESERVED[name] in line


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "-x", "_x", "a/b", "../mini", "a b", "Mini", "a\n", "x" * 41])
def test_a_name_that_climbs_or_hides_is_no_studys(configs, edit, name):
    edit(MINI, "study: mini", f"study: {json.dumps(name)}")
    told = message_of(configs)
    assert told.startswith(f"configs/{MINI}: study: {name!r} ") and "can be a folder" in told


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "a: !!int 1",
        "!!str a: 1",
        "&a a: 1",
        "a: 1\n---\na: 2",
        f"a: {'[' * 20_000}",
        "a: 1 " + "#" * 200_000,
    ],
)
def test_what_could_stand_for_anything_is_refused_in_one_line(configs, text):
    (configs / MINI).write_text(text)
    (line,) = message_of(configs).splitlines()
    assert line.startswith(f"configs/{MINI}: ") and "; allowed: " in line


def test_a_rule_that_reads_true_steps_has_generated_problems(configs, edit):
    edit("methods/stapo.yaml", None, "selector: oracle-decisions\nnormaliser: response\n")
    told = message_of(configs, PAPER)
    assert told.startswith("configs/methods/stapo.yaml: selector: 'oracle-decisions' ") and "generated" in told
    assert load_study(configs / MINI).methods["stapo"].known_steps


def test_a_control_without_its_rule_is_refused(configs, edit):
    (configs / "methods/stapo-permuted.yaml").write_text("of: stapo\ncontrol: permuted-batch\n")
    edit(MINI, "stapo, ict-10", "stapo-permuted, ict-10")
    edit(MINI, "baselines: [grpo, entropy-20, stapo]", "baselines: [grpo]")
    (line,) = message_of(configs).splitlines()
    assert line.startswith("configs/methods/stapo-permuted.yaml: control: ") and "'stapo'" in line
    edit(MINI, "stapo-permuted, ict-10", "stapo, stapo-permuted, ict-10")
    assert "stapo-permuted" in load_study(configs / MINI).methods


def test_variants_of_each_other_and_of_a_variant_too_far_from_its_rule_are_refused(configs, edit):
    whole = (configs / ICT).read_text()
    edit(ICT, None, "of: ict-20\nscore: kl\n")
    lines = message_of(configs).splitlines()
    assert len(lines) == 2 and all(": of: 'ict-" in line for line in lines)  # a line a file of the circle
    edit(ICT, None, "of: stapo\ncontrol: permuted-batch\n")
    edit("methods/stapo.yaml", None, "of: ict-1\nkeep: rest\n")
    (configs / "methods/ict-1.yaml").write_text(whole)
    lines = message_of(configs).splitlines()
    assert {line.split(": ")[0] for line in lines} == {
        f"configs/methods/{name}.yaml" for name in ("ict-5", "ict-20", "ict-30", "random-10")
    }
    assert all(": of: 'ict-10' " in line and "; allowed: " in line for line in lines)


@pytest.mark.parametrize(("old", "new"), [("percent: 10", "percent: 0"), ("percent: 10", "percent: 10\ngroup_size: 7")])
def test_what_is_wrong_with_a_method_is_told_of_its_file_and_not_of_its_variants(configs, edit, old, new):
    edit(ICT, old, new)
    (line,) = message_of(configs).splitlines()
    assert line.startswith(f"configs/{ICT}: {new.split()[-2]} ")


def test_all_problems_of_all_files_are_told_at_once(configs, edit):
    edit(MINI, "ict-30", "ict-31")
    edit(ICT, "percent: 10", "percent: 0")
    edit("methods/stapo.yaml", "tau_h: 0.2 ", "tau_h: 1.2 ")
    edit(TRAINING, "\nsteps: 40 ", "\nsteps: 0 ")
    lines = message_of(configs).splitlines()
    assert len(lines) == 4, lines


def test_a_file_that_is_no_yaml_names_the_line(configs):
    (configs / ICT).write_text("selector: ict\npercent: [10\n")
    message = message_of(configs)
    assert message.startswith("configs/methods/ict-10.yaml: ") and "line 3" in message


@pytest.mark.parametrize(
    "content", [b"", b"- 1\n", b"7\n", b"\xff\xfe\x00", b"? [1]\n: 2\n", b"study: !!python/name:os\n"]
)
def test_any_other_file_is_a_user_error(configs, content):
    for file in (MINI, ICT):
        original = (configs / file).read_bytes()
        (configs / file).write_bytes(content)
        assert message_of(configs).startswith(f"configs/{file}: ")
        (configs / file).write_bytes(original)


def test_a_study_that_does_not_exist(configs):
    told = message_of(configs, "studies/maxi.yaml")
    assert told.startswith("configs/studies/maxi.yaml: ") and told.endswith("allowed: mini, paper")


def test_a_control_of_a_control_is_refused(configs, edit):
    for name, of, control in (
        ("stapo-permuted", "stapo", "permuted-batch"),
        ("stapo-even", "stapo-permuted", "mean-one"),
    ):
        (configs / f"methods/{name}.yaml").write_text(f"of: {of}\ncontrol: {control}\n")
    edit(MINI, "stapo, ict-10", "stapo, stapo-permuted, stapo-even, ict-10")
    (line,) = message_of(configs).splitlines()
    assert line.startswith("configs/methods/stapo-even.yaml: control: ") and "is a control itself" in line


def test_a_start_that_reads_more_solutions_than_there_are_is_refused(configs, edit):
    edit(HUB, "dtype:", START.replace("problems: 8", "problems: 32"))
    (line,) = message_of(configs, PAPER).splitlines()
    assert "data.train_sets" in line and "hub-m: 30" in line
