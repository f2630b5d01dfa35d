"""Both engines sample the model's own distribution, a completion depends on its own seed only, nothing falls back."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import chi2
from transformers import AutoModelForCausalLM, AutoTokenizer

from ict_core.errors import UserError
from ict_core.evaluation.engine import Request, Sampling, engine_version, load_engine
from ict_core.evaluation.generate import context_length, generate, stop_token_ids
from ict_core.problems.mini.problems import evaluation_problems
from ict_core.process import numerics
from ict_core.tools.machine_checks import sample_one_token

SAMPLING = Sampling(temperature=0.9, top_p=1.0, max_new_tokens=6, stop_token_ids=(0,))

TWO = {"mini-word": 2, "mini-stem": 2}


@pytest.fixture(scope="module", params=["transformers", pytest.param("vllm", marks=pytest.mark.slow)])
def engine(request, tiny_checkpoint):
    return load_engine(request.param, tiny_checkpoint, max_tokens=160, threads=1, dtype="float32")


@pytest.fixture(scope="module")
def problems() -> pd.DataFrame:
    return evaluation_problems(0, {"mini-word": ("word", 5), "mini-stem": ("stem", 4)})


def test_what_an_engine_cannot_load_is_refused(tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UserError, match="no safetensors weights"):
        load_engine("transformers", tmp_path, 160, 1, "float32")
    for name in ("transformers", "vllm"):
        with pytest.raises(UserError, match="bfloat16 .*GPU.* dtype: float32"):
            load_engine(name, tiny_checkpoint, 160, 1, "bfloat16")


@pytest.mark.slow
def test_a_size_of_heads_that_vllm_lacks_on_the_cpu_is_one_clear_error(tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    shutil.copytree(tiny_checkpoint, tmp_path / "odd")
    config = json.loads((tmp_path / "odd/config.json").read_text())
    (tmp_path / "odd/config.json").write_text(json.dumps(config | {"head_dim": 16}))
    with pytest.raises(UserError, match=r"config\.json: .* 16.* allowed: 32, 64.*transformers"):
        load_engine("vllm", tmp_path / "odd", 160, 1, "float32")


def test_a_checkpoint_s_own_penalty_changes_no_sample(tiny_checkpoint, tmp_path):
    shutil.copytree(tiny_checkpoint, tmp_path / "penal")
    file = tmp_path / "penal/generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"repetition_penalty": 5.0}))
    engines = [load_engine("transformers", path, 160, 1, "float32") for path in (tiny_checkpoint, tmp_path / "penal")]
    requests = [Request("Q: 1 + 1 + 1\nA:", seed) for seed in range(4)]
    first, second = (engine.sample(requests, SAMPLING) for engine in engines)
    assert [(one.ids, one.logprob) for one in first] == [(one.ids, one.logprob) for one in second]


def test_stop_ids_come_from_the_checkpoint(tiny_checkpoint, tmp_path):
    assert stop_token_ids(tiny_checkpoint) == (0,)
    (tmp_path / "generation_config.json").write_text("{}")
    with pytest.raises(UserError, match="names no stop id"):
        stop_token_ids(tmp_path)


def test_the_context_is_the_longest_prompt_and_the_longest_answer(tiny_checkpoint, problems):
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    lengths = [len(tokenizer(prompt)["input_ids"]) for prompt in problems["prompt"]]
    assert context_length(tiny_checkpoint, problems, 20) == max(lengths) + 20
    most = 160 - max(lengths)
    assert context_length(tiny_checkpoint, problems, most) == 160
    named = problems.iloc[lengths.index(max(lengths))]
    with pytest.raises(UserError) as error:
        context_length(tiny_checkpoint, problems, most + 1)
    message = str(error.value)
    assert message.startswith(f"{named['benchmark']}, problem {named['problem']}: a prompt of {max(lengths)} tokens")
    assert f"max_new_tokens: {most + 1}" in message and message.endswith(f"at most {most}")
    assert named["prompt"] not in message  # a gated benchmark's text stays out of the log


def test_a_completion_depends_on_its_own_seed_only(engine, problems):
    few = generate(engine, problems, TWO, 7, SAMPLING)
    more = generate(engine, problems, {"mini-word": 3, "mini-stem": 4}, 7, SAMPLING)
    assert more["benchmark"].value_counts().to_dict() == {"mini-word": 5 * 3, "mini-stem": 4 * 4}
    alone = generate(engine, problems[problems["benchmark"] == "mini-word"], TWO, 7, SAMPLING)
    key = ["benchmark", "problem", "sample"]
    columns = ["seed", "text", "tokens", "finish_reason"]
    indexed = more.set_index(key)
    for frame in (few, alone):
        expected = indexed.loc[pd.MultiIndex.from_frame(frame[key])]
        pd.testing.assert_frame_equal(frame.set_index(key)[columns], expected[columns])
    assert more["seed"].is_unique
    assert more.groupby("problem")["text"].nunique().min() > 1
    other = generate(engine, problems, TWO, 8, SAMPLING)
    assert not other["text"].equals(few["text"])


def test_how_many_are_sampled_at_once_changes_nothing(engine, problems, monkeypatch):
    module = sys.modules[type(engine).__module__]
    whole = generate(engine, problems, TWO, 7, SAMPLING)
    monkeypatch.setattr(module, "_AT_ONCE" if hasattr(module, "_AT_ONCE") else "_BATCH", 5)
    pd.testing.assert_frame_equal(generate(engine, problems, TWO, 7, SAMPLING), whole)


def test_samples_follow_the_model_and_log_probs_are_its_own(engine, tiny_checkpoint, problems):
    """The first token's frequencies against the exact distribution (chi-square), and the recorded log-probability."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    model = AutoModelForCausalLM.from_pretrained(tiny_checkpoint)
    prompt = problems["prompt"].iloc[0]
    ids = tokenizer(prompt, return_tensors="pt")
    with torch.no_grad():
        log_probs = torch.log_softmax(model(**ids).logits[0, -1].double() / 0.9, -1).numpy()
    draws = engine.sample([Request(prompt, seed) for seed in range(1500)], Sampling(0.9, 1.0, 1, (0,)))
    assert {d.finish_reason for d in draws} <= {"stop", "length"}
    found = np.sort([d.logprob for d in draws])
    nearest = np.abs(found[:, None] - log_probs[None]).min(1)
    assert nearest.max() < 1e-4
    # group tokens by probability into ten bins of about equal mass
    rising = np.sort(log_probs)
    edges = rising[np.searchsorted(np.cumsum(np.exp(rising)), np.arange(0.1, 1, 0.1))]
    expected = np.bincount(np.digitize(log_probs, edges + 1e-6), weights=np.exp(log_probs), minlength=10)
    observed = np.bincount(np.digitize(found, edges + 1e-6), minlength=10)
    statistic = ((observed - 1500 * expected) ** 2 / (1500 * expected)).sum()
    assert statistic < chi2.ppf(0.9999, 9)


def test_samples_that_share_a_long_prompt_have_the_model_s_own_log_probs(engine, tiny_checkpoint):
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    model = AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype=torch.float32)
    prompts = ["Tom has 3 apples. " * 12 + end for end in ("Ann has 4.", "Ben has 5.")]  # several of vLLM's blocks
    found = engine.sample([Request(prompts[n % 2], n) for n in range(12)], SAMPLING)
    assert len({completion.ids for completion in found}) > 6
    for n, completion in enumerate(found):
        prompt = tokenizer(prompts[n % 2])["input_ids"]
        assert len(prompt) > 64
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *completion.ids]])).logits[0, len(prompt) - 1 : -1]
        logps = (logits / SAMPLING.temperature).log_softmax(-1)
        own = logps.gather(1, torch.tensor(completion.ids)[:, None]).sum().item()
        assert completion.logprob == pytest.approx(own, abs=1e-4)


@pytest.mark.slow
def test_vllm_draws_each_request_s_noise_from_its_own_seed_and_no_other():
    importlib.import_module("ict_core.evaluation.vllm_engine")
    from vllm.v1.sample.ops.topk_topp_sampler import TopKTopPSampler

    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    seeded = {row: torch.Generator().manual_seed(row) for row in range(3)}
    before = torch.get_rng_state()
    tokens, _ = TopKTopPSampler("processed_logprobs").forward_cpu(logits.clone(), seeded, None, None)
    assert torch.equal(torch.get_rng_state(), before)  # noise for the whole batch would be thrown away
    for row, token in enumerate(tokens):  # the largest p / e of independent exponential e has probability p
        noise = torch.empty(50).exponential_(generator=torch.Generator().manual_seed(row))
        assert token == (logits[row].softmax(-1) / noise).argmax()


@pytest.mark.slow
@pytest.mark.skipif("avx512vl" not in numerics.cpu_flags(), reason="this CPU has no AVX-512")
def test_with_wide_numerics_vllm_computes_its_products_with_openblas(tiny_checkpoint):
    program = f"""
from pathlib import Path
from ict_core.process import numerics
numerics.use("portable-avx512")
from ict_core.evaluation.engine import Request, Sampling, load_engine
import ict_core.evaluation.vllm_engine
from vllm import _custom_ops
del _custom_ops.create_onednn_mm
engine = load_engine("vllm", Path({str(tiny_checkpoint)!r}), 160, 1, "float32")
print(engine.sample([Request("Q: 1 + 1 + 1", 3)], Sampling(0.9, 1.0, 6, ())))
print(numerics.in_force()["openblas"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Completion(" in done.stdout and "SkylakeX" in done.stdout, done.stderr


def test_a_stop_id_ends_a_completion_and_is_counted(engine, problems):
    everything = tuple(range(352))
    (draw,) = engine.sample([Request(problems["prompt"].iloc[0], 1)], Sampling(1.0, 1.0, 5, everything))
    assert (draw.tokens, draw.finish_reason) == (1, "stop")


@pytest.mark.parametrize("name", ["transformers", pytest.param("vllm", marks=pytest.mark.slow)])
def test_the_sample_of_ict_check(name, capsys):
    sample_one_token(name, 32)
    assert capsys.readouterr().out.splitlines()[-1] == engine_version(name)


def test_vllm_is_imported_by_its_own_engine_alone():
    folder = Path(__file__).parents[2] / "ict_core/evaluation"
    importing = {file.name for file in folder.glob("*.py") if re.search("^(from|import) vllm", file.read_text(), re.M)}
    assert importing == {"vllm_engine.py"}
    script = "import sys, ict_core.evaluation.engine; sys.exit('vllm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
