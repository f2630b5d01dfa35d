"""A configuration of the tests' own, which a test may spoil, so that tuning the project's breaks no test."""

from pathlib import Path

import pytest

STUDY = """\
study: mini
note: >-
  A study for tests.
scale: mini
training: mini
selection_warmup_steps: 5
data:
  seed: 0
  train_problems: 2000
  # problems_per_benchmark: 20
benchmarks: [mini-word, mini-symbolic, mini-stem, mini-aime23]
evaluation:
  engine: vllm
  samples: 8
  temperature: 1.0
  top_p: 1.0
  max_new_tokens: 112
  threads: 1
grading: {seconds: 5, memory_mib: 1024}
evidence:
  margin_points: 2.0
  power: 0.8
grid:
  - models: [mini-s, mini-m]
    methods: [grpo, entropy-20, stapo, ict-10, random-10]
    seeds: [0, 1, 2]
  - models: [mini-s]
    methods: [ict-5, ict-20, ict-30]
    seeds: [0, 1, 2]
baselines: [grpo, entropy-20, stapo]
"""
TRAINING = """\
prompts_per_step: 16
group_size: 8 # rollouts
steps: 40 # optimiser steps
learning_rate: 3.0e-4
lr_warmup_steps: 0
weight_decay: 0.0
grad_clip: 1.0
adam_betas: [0.9, 0.999]
kl_coef: 0.0
clip_low: 0.2
clip_high: 0.2
temperature: 1.0
max_new_tokens: 112
micro_batch_sequences: 128
precision: float32
threads: 1
token_sample_every: 10
token_sample_groups: 2
"""
ROLLOUTS = """\
rollouts:
  engine: vllm-colocate
  memory_share: 0.4
  sleep: true
  correction: {mode: token_mask, clip_max: 2.0}
  probe_bound: 0.05
"""
MODEL = """\
kind: pretrained-from-scratch
architecture:
 {{hidden_size: 64, layers: 4, heads: {heads}, kv_heads: 2, intermediate_size: 96, vocab_size: 512, max_positions: 256}}
pretraining: {{steps: 10, batch_sequences: 32, muon_lr: 0.02, adamw_lr: 0.003, seed: 0}}
"""
HUB_MODEL = """\
kind: hub
hub: Owner/model
revision: "{commit}"
licence: MIT
architecture:
  {{hidden_size: 64, layers: 4, heads: 2, kv_heads: 2, intermediate_size: 192, vocab_size: 512, max_positions: 256}}
tied_embeddings: true
dtype: bfloat16
stop_ids: [0, 1]
prompt: {{template: "user: {{prompt}} you: ", source: made up}}
hardware: {{accelerate: ddp, gpus: 2, micro_batch_sequences: 16, gradient_checkpointing: true,
  memory_gib: 16, train_hours: 1, generate_hours: 0.5}}
"""
TOP = "selector: top-score\nscore: js\npercent: 10\nnormaliser: kept\n"
METHODS = {
    "grpo": "selector: grpo\nnormaliser: response\n",
    "entropy-20": "selector: high-entropy\npercent: 20\nnormaliser: response\n",
    "stapo": "selector: stapo\ntau_p: 0.002\ntau_h: 0.2 # a quantile\nnormaliser: kept\n",
    "random-10": "of: ict-10\nscore: random\n",
    "ict-10": TOP,
    **{f"ict-{k}": f"of: ict-10\npercent: {k}\n" for k in (5, 20, 30)},
}
BENCHMARKS = {"mini-word": "math", "mini-symbolic": "math", "mini-stem": "choice", "mini-aime23": "math"}
PUBLISHED = """\
{kind}name: {name}
reader: gsm8k
paper: arXiv:2110.14168
hub: openai/gsm8k
configs: [main]
split: test
revision: "{commit}"
rows: 3
sha256: "{sha256}"
licence: MIT
columns: [question, answer]
answer_type: number
prompt:
  template: "{{question}} Think."
  source: made up
"""
SUMS = {"commit": "a1" * 20, "sha256": "b2" * 32}


@pytest.fixture
def edit(configs):
    """Changes one place of a file, or the whole of it."""

    def change(file: str, old: str | None, new: str) -> None:
        text = (configs / file).read_text()
        assert old is None or text.count(old) == 1, "one place is changed"
        (configs / file).write_text(new if old is None else text.replace(old, new))

    return change


@pytest.fixture
def configs(tmp_path, monkeypatch):
    files = {
        "studies/mini": STUDY,
        "studies/paper": STUDY.replace("study: mini", "study: paper")
        .replace("train_problems: 2000", "train_sets: [gsm8k-train]")
        .replace("[mini-word, mini-symbolic, mini-stem, mini-aime23]", "[gsm8k, mini-word]")
        .replace("mini-m", "hub-m")
        .replace("  threads: 1", "  threads: 1\n  samples_of: {gsm8k: 16}")
        .replace("training: mini\nselection_warmup_steps: 5", "training: vllm\nselection_warmup_steps: 7"),
        "training/mini": TRAINING,
        "training/smoke": TRAINING,
        "training/vllm": TRAINING + ROLLOUTS,
        "models/hub-m": HUB_MODEL.format(**SUMS),
        "models/mini-s": MODEL.format(heads=2),
        "models/mini-m": MODEL.format(heads=4),
        "benchmarks/gsm8k": PUBLISHED.format(kind="kind: published\nmirrors: GSM8K\n", name="gsm8k", **SUMS),
        "data/gsm8k-train": PUBLISHED.format(kind="", name="gsm8k-train", **SUMS).replace("rows: 3", "rows: 30"),
        **{f"methods/{name}": text for name, text in METHODS.items()},
        **{
            f"benchmarks/{name}": f"kind: generated\nname: {name}\nmirrors: A\n"
            f"family: {name.removeprefix('mini-').rstrip('23')}\nproblems: 60\nanswer_type: {answers}\n"
            for name, answers in BENCHMARKS.items()
        },
    }
    for name, text in files.items():
        path = tmp_path / "configs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)  # messages name files from here
    return Path("configs")
