r"""Give one model the same problems by `ict eval` and lm-evaluation-harness; count where text or verdict differ.

    python benchmarks/beside_lm_eval.py --problems 100
    python benchmarks/beside_lm_eval.py --model DIR --benchmark gsm8k --mirror ../shared/benchmarks/mirror
    python benchmarks/beside_lm_eval.py --quick

Both decode greedily in float32 with transformers, from the prompt that `ict eval` writes. The harness judges by the
filters and the metric of its own GSM8K task, so the benchmark's answers must be numbers. Without ``--model`` it takes
the mini study's model, or pretrains one like it for 600 steps, a minute. It needs an environment with this package and
``lm_eval`` (``docs/grading.md`` reports 0.4.13); otherwise it says so and ends. ``--quick`` does not need ``lm_eval``:
it uses transformers' own ``generate`` and the last number of the text instead of the harness.
"""

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import report

GREEDY = "0.000001"  # top_p that keeps only the most likely token
SAMPLES = 4  # all equal, as decoding is greedy
JUDGES = ("strict-match", "flexible-extract")


def ours(model: str, benchmark: str, problems: int, tokens: int, more: list[str]) -> pd.DataFrame:
    """One answer per problem by `ict eval`, with the prompt and the verdict."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out")
        command = [sys.executable, "-m", "ict_core", "eval", model, "--engine", "transformers", "--out", str(out)]
        command += ["--benchmarks", benchmark, "--problems", str(problems), "--samples", str(SAMPLES)]
        command += ["--top-p", GREEDY, "--max-new-tokens", str(tokens), *more]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        answers = pd.read_parquet(out / "answers.parquet")
    if (answers.groupby("problem")["text"].nunique() > 1).any():
        raise RuntimeError("greedy answers of one problem differ")
    return answers[answers["sample"] == 0].reset_index(drop=True)


def by_generate(model: str, answers: pd.DataFrame, tokens: int) -> pd.DataFrame:
    """The column `text` from transformers' own generate, and whether the last number in it is the answer."""
    from ict_core.models.read import read_model, read_tokenizer

    tokenizer, decoder = read_tokenizer(Path(model)), read_model(Path(model), "float32").eval()
    texts = []
    for prompt in answers["prompt"]:
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
        completion = decoder.generate(**ids, do_sample=False, max_new_tokens=tokens)[0, ids["input_ids"].shape[1] :]
        texts.append(str(tokenizer.decode(completion, skip_special_tokens=True)))
    numbers = [re.findall(r"-?\d+", text.replace(",", ""))[-1:] for text in texts]
    return pd.DataFrame(
        {"last number": [[gold] == n for gold, n in zip(answers["answer"], numbers, strict=True)], "text": texts}
    )


def by_harness(model: str, answers: pd.DataFrame, tokens: int) -> pd.DataFrame:
    """The column `text` from lm-evaluation-harness, and whether each filter of its GSM8K task finds the answer."""
    import datasets
    import lm_eval
    import yaml

    rows = answers[["prompt", "answer"]].to_dict("list")
    folder = Path(str(importlib.util.find_spec("lm_eval").origin)).parent  # type: ignore[union-attr]
    task: dict[str, Any] = yaml.safe_load((folder / "tasks/gsm8k/gsm8k.yaml").read_text(encoding="utf-8"))
    for key in ("tag", "dataset_path", "dataset_name", "training_split", "fewshot_split"):
        task.pop(key, None)
    task |= {
        "task": "beside",
        "custom_dataset": lambda **_: {"test": datasets.Dataset.from_dict(rows)},
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "#### {{answer}}",
        "num_fewshot": 0,
        "generation_kwargs": {"until": [], "do_sample": False, "max_gen_toks": tokens},
    }
    arguments = {"pretrained": model, "dtype": "float32"}
    output = lm_eval.simple_evaluate("hf", arguments, tasks=[task], device="cpu", batch_size=1, bootstrap_iters=0)
    frame = pd.DataFrame(output["samples"]["beside"])
    frame["text"] = [responses[0][0] for responses in frame["resps"]]
    judged = frame.pivot(index="doc_id", columns="filter", values="exact_match")[list(JUDGES)] == 1
    return judged.assign(text=frame.groupby("doc_id")["text"].first()).reset_index(drop=True)


def main() -> None:
    parser = report.parser(__doc__)
    parser.add_argument("--model", type=Path, help="the folder of a checkpoint")
    parser.add_argument("--benchmark", default="mini-word", help="one whose answers are numbers")
    parser.add_argument("--problems", type=int, default=40, help="drawn at random")
    parser.add_argument("--tokens", type=int, default=112, help="of an answer")
    parser.add_argument("--mirror", type=Path, help="of `ict eval`")
    options = report.parse(parser, problems=8, tokens=48)
    if not options.quick and importlib.util.find_spec("lm_eval") is None:
        print("skipped: lm_eval is not importable here; `pip install lm_eval` into an environment of its own")
        return
    with tempfile.TemporaryDirectory() as scratch:
        model = options.model or report.mini_model(Path(scratch), 2 if options.quick else 600)
        more = ["--mirror", str(options.mirror)] if options.mirror else []
        answers = ours(str(model), options.benchmark, options.problems, options.tokens, more)
        peer = (by_generate if options.quick else by_harness)(str(model), answers, options.tokens)
    same = answers["text"].str.strip() == peer["text"].str.strip()
    correct, rows = answers["status"] == "correct", []
    for judge in peer.columns.drop("text"):
        verdicts = peer[judge]
        rows.append(
            {
                "judge": judge,
                "problems": str(len(answers)),
                "same text": str(same.sum()),
                "correct here": str(correct.sum()),
                "correct there": str(verdicts.sum()),
                "only here": str((correct & ~verdicts).sum()),
                "only there": str((~correct & verdicts).sum()),
            }
        )
        for _, row in answers[same & (correct != verdicts)].head(3).iterrows():
            print(f"{judge}: {row['answer']} is the answer, {row['status']} here: ...{row['text'][-60:]!r}")
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
