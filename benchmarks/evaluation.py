"""How long a cell's evaluation takes beside bare `LLM.generate` on the same prompts and settings.

    python benchmarks/evaluation.py
    python benchmarks/evaluation.py --quick     # one problem a set, one round

All seven sets of the mini study, one engine, which is loaded before. *Ours* is the way from the frame of problems to
the frame of completions; *bare* is vLLM's own call on prompts and parameters that stand ready. They take turns, and
sample the same. The model is the study's base model, if it is there, else one of that size with random weights, which
hardly ever stops. Then the same again from the cache.
"""

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import report

from ict_core.commands.stages import prepare
from ict_core.config import Study, load_study
from ict_core.evaluation import CachedEngine, Sampling, context_length, generate, sampler_settings, stop_token_ids
from ict_core.problems import study_problems
from ict_core.process import loading

_REPOSITORY = Path(__file__).resolve().parents[1]
_STUDY, _MODEL = "mini", "mini-s"


def checkpoint(study: Study, folder: Path) -> Path:
    """The base model of a finished study, or a random one of its size, made in `folder`."""
    finished = _REPOSITORY / "results" / study.name / _MODEL / "base/seed-0/model"
    if finished.exists():
        return finished
    from ict_core.problems.mini import train_tokenizer
    from ict_core.training.pretrain import build_model, save_checkpoint

    sizes = study.models[_MODEL].architecture
    tokenizer = train_tokenizer(sizes.vocab_size)
    save_checkpoint(build_model(sizes, tokenizer, seed=0), tokenizer, folder)
    return folder


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """Wall seconds of a call, and what it gave."""
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def main() -> None:
    """Take turns, compare, and append a line to the results."""
    parser = report.parser(__doc__)
    parser.add_argument("--checkpoint", type=Path, help="another model (default: see above)")
    parser.add_argument("--rounds", type=int, default=3, help="after one that is not counted (default: %(default)s)")
    parser.add_argument("--problems", type=int, help="of each set (default: the study's)")
    options = report.parse(parser, rounds=1, problems=1)
    prepare()
    with loading(without=("scipy",)):  # as `ict generate` does
        from ict_core.evaluation import vllm_engine  # noqa: F401
    study = load_study(_REPOSITORY / f"configs/studies/{_STUDY}.yaml")
    if options.problems:
        fewer = {"problems": options.problems}
        sets = {name: one.model_copy(update=fewer) for name, one in study.benchmarks.items()}
        study = dataclasses.replace(study, benchmarks=sets)
    with tempfile.TemporaryDirectory() as scratch:
        model = options.checkpoint or checkpoint(study, Path(scratch) / "model")
        rows = measure(study, model, Path(scratch) / "cache", options.rounds)
    report.append(rows, quick=options.quick)


def measure(study: Study, model: Path, cache: Path, rounds: int) -> list[dict[str, str]]:
    """The one row of the table."""
    from ict_core.evaluation.vllm_engine import VllmEngine

    evaluation = study.evaluation
    _, problems = study_problems(study, None)
    samples = {benchmark: evaluation.samples_for(benchmark) for benchmark in study.benchmarks}
    sampling = Sampling(evaluation.temperature, evaluation.top_p, evaluation.max_new_tokens, stop_token_ids(model))
    length = context_length(model, problems, evaluation.max_new_tokens)
    loading, engine = timed(lambda: VllmEngine(model, length, evaluation.threads, "float32"))
    assert isinstance(engine, VllmEngine)
    requests: list[object] = []
    stream = engine.stream
    engine.stream = lambda asked, how: (requests.extend(asked), stream(asked, how))[1]  # type: ignore
    frame = generate(engine, problems, samples, 0, sampling)  # the first call warms up, and tells the requests
    engine.stream = stream  # type: ignore[method-assign]
    prompts = [request.prompt for request in requests]
    parameters = [engine._parameters(request, sampling) for request in requests]
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(rounds):
        seconds, again = timed(lambda: generate(engine, problems, samples, 0, sampling))
        times["ours"].append(seconds)
        assert isinstance(again, pd.DataFrame) and again.equals(frame)
        seconds, outputs = timed(lambda: engine._llm.generate(prompts, parameters, use_tqdm=False))
        times["bare"].append(seconds)
        assert [output.outputs[0].cumulative_logprob for output in outputs] == frame["logprob"].tolist()
    cached = CachedEngine(lambda: engine, cache, sampler_settings("vllm", model, evaluation.threads, "float32"))
    generate(cached, problems, samples, 0, sampling)
    reusing, reused = timed(lambda: generate(cached, problems, samples, 0, sampling))
    assert isinstance(reused, pd.DataFrame) and reused.equals(frame)
    ratio = statistics.median(ours / bare for ours, bare in zip(times["ours"], times["bare"], strict=True))
    seconds = {name: statistics.median(of) for name, of in times.items()}
    return [
        {
            "completions": f"{len(frame):,}",
            "tokens": f"{frame['tokens'].sum():,}",
            "ours, s": f"{seconds['ours']:.2f}",
            "bare, s": f"{seconds['bare']:.2f}",
            "ours / bare": f"{ratio:.3f}",
            "tokens a second": f"{frame['tokens'].sum() / seconds['ours']:,.0f}",
            "all from the cache, s": f"{reusing:.2f}",
            "loading the engine, s": f"{loading:.1f}",
        }
    ]


if __name__ == "__main__":
    main()
