"""The whole path of the paper's study on real rows, by a small random model with the 0.5B's vocabulary."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from repository_copy import REPOSITORY, Copy

MIRROR = REPOSITORY.parent / "shared/benchmarks/mirror"
GSM8K_TRAIN = MIRROR / "openai/gsm8k/main/train.jsonl"
SMALL = {  # of the recipe: two steps, on the CPU
    **{"prompts_per_step": 1, "group_size": 2, "steps": 2, "learning_rate": 1e-4, "lr_warmup_steps": 0},
    **{"max_prompt_tokens": 100, "max_new_tokens": 8, "micro_batch_sequences": 2, "precision": "float32"},
    **{"threads": 1, "token_sample_every": 1},
}


def random_model(folder: Path, sizes: dict) -> list[int]:
    """A randomly initialised Qwen2 with a byte-level tokenizer of the training questions; returns its stop ids."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=special, initial_alphabet=alphabet)
    questions = [json.loads(line)["question"] for line in GSM8K_TRAIN.read_text().splitlines()]
    tokenizer.train_from_iterator(questions, trainer)
    ends = {"eos_token": special[0], "pad_token": special[0]}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends).save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen2Config(
        hidden_size=sizes["hidden_size"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        num_key_value_heads=sizes["kv_heads"],
        intermediate_size=sizes["intermediate_size"],
        vocab_size=sizes["vocab_size"],
        max_position_embeddings=sizes["max_positions"],
        tie_word_embeddings=True,
        dtype="float32",
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    return [tokenizer.token_to_id(name) for name in (special[0], special[2])]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Copy:
    """A copy in which one cell of a study like the paper's have run on the CPU."""
    if not GSM8K_TRAIN.exists():
        pytest.skip("the mirror of the published data sets is not beside the checkout (../shared/benchmarks/mirror)")
    copy = Copy(tmp_path_factory.mktemp("paper"))
    configs = copy.folder / "configs"
    model = yaml.safe_load((configs / "models/qwen2.5-0.5b.yaml").read_text())
    sizes = model["architecture"] | {"layers": 2, "hidden_size": model["architecture"]["hidden_size"] // 2}
    stops = random_model(copy.folder / "random", sizes)
    for key in ("hub", "revision", "licence", "hardware"):
        del model[key]
    model |= {"kind": "local", "path": "random", "architecture": sizes, "dtype": "float32", "stop_ids": stops}
    (configs / "models/random-0.5b.yaml").write_text(yaml.safe_dump(model))
    recipe = yaml.safe_load((configs / "training/paper.yaml").read_text())
    assert SMALL.keys() <= recipe.keys()
    del recipe["rollouts"]  # by transformers: the embeddings are tied
    (configs / "training/cpu.yaml").write_text(yaml.safe_dump(recipe | SMALL))
    study = yaml.safe_load((configs / "studies/paper.yaml").read_text())
    study |= {
        "study": "cpu",
        "training": "cpu",
        "selection_warmup_steps": 1,
        "benchmarks": [name for name in study["benchmarks"] if name != "gpqa"],  # gated: in no mirror
        "grid": [{"models": ["random-0.5b"], "methods": ["ict-10"], "seeds": [0]}],
        "baselines": ["ict-10"],
    }
    del study["tuning"]
    study["data"] |= {"mirror": str(MIRROR), "problems_per_benchmark": 1, "train_sets": ["gsm8k-train"]}
    study["evaluation"] |= {"samples": 4, "samples_of": {"aime-24": 5}, "max_new_tokens": 8, "threads": 1}
    (configs / "studies/cpu.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    result = copy.snakemake("results/cpu/tables/main.md", "--config=study=cpu")
    assert result.returncode == 0, result.stdout[-8000:]
    return copy


@pytest.mark.long
def test_a_model_with_the_vocabulary_of_05b_goes_through_train_generate_grade_and_table(finished):
    results = finished.folder / "results/cpu"
    train = pd.read_parquet(results / "data/train.parquet")
    assert len(train) == 7473 and set(train["benchmark"]) == {"gsm8k-train"}
    cell = results / "random-0.5b/ict-10/seed-0"
    log = pd.read_parquet(cell / "train/log.parquet")
    assert log["step"].tolist() == [0, 1]
    assert log["kept_share"].iloc[0] == 1 and (log["kept_share"].iloc[1:] < 0.2).all()
    assert (log["h1"] > 11).all()  # ln 151,936 is 11.93
    assert pd.read_parquet(cell / "train/tokens.parquet")["js"].max() > 0
    manifest = json.loads((cell / "train/manifest.json").read_text())
    assert 0 < manifest["prompts_too_long"] < 7000 and manifest["trl"]["max_steps"] == 2
    completions = pd.read_parquet(cell / "completions.parquet")
    benchmarks = ["math-500", "gsm8k", "mmlu-stem", "aime-23", "aime-24", "aime-25"]
    assert completions["benchmark"].value_counts().to_dict() == {b: 5 if b == "aime-24" else 4 for b in benchmarks}
    grades = pd.read_parquet(cell / "grades.parquet")
    assert len(grades) == len(completions) and not set(grades["status"]) & {"timeout", "memory", "error"}
    table = (results / "tables/main.md").read_text()
    assert all(name in table for name in ("random-0.5b", "ict-10", "GSM8K", "AIME 2024"))
