"""Configuration files as hypothesis spoils them: the project's own, mutated as data and as bytes."""

import contextlib
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from hypothesis import strategies as st

from ict_core.config import load_methods, load_model, load_study
from ict_core.errors import UserError
from ict_core.evidence import read_claims
from ict_core.tables import read_paper

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
SECONDS = 20  # after which a loader is said to hang
MEMORY_MIB = 400  # that a loader may add to the most this process had


def _smoke(configs: Path) -> object:
    return load_study(configs / "studies/smoke.yaml")


def _paper(configs: Path) -> object:
    return load_study(configs / "studies/paper.yaml")


# Each kind of file, with what reads it.
FILES: dict[str, Callable[[Path], object]] = {
    "studies/smoke.yaml": _smoke,
    "training/smoke.yaml": _smoke,
    "models/mini-xs.yaml": _smoke,
    "methods/ict-10.yaml": _smoke,
    "benchmarks/mini-word.yaml": _smoke,
    "studies/paper.yaml": _paper,
    "training/paper.yaml": _paper,
    "models/qwen2.5-0.5b.yaml": lambda configs: load_model(configs / "models/qwen2.5-0.5b.yaml"),
    "benchmarks/mmlu-stem.yaml": _paper,
    "data/math-train.yaml": _paper,
    "methods/kl-10.yaml": lambda configs: load_methods(configs / "methods"),
    "claims.yaml": lambda configs: read_claims(configs / "claims.yaml"),
    "paper.yaml": lambda configs: read_paper(configs / "paper.yaml"),
}

NUMBERS = st.one_of(
    st.sampled_from([0, -1, 1, 2**31, 2**63, 10**17, 10**400, 1e308, -1e308, 5e-324, 1e-9]),
    st.sampled_from([float("nan"), float("inf"), -float("inf")]),
    st.integers(),
    st.floats(),
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["", "..", "../../x", "/", "\x00", "\x1b[2J", "a\nb: c", "\ufeff", "\ud7ff", "x" * 5000, "{question}"]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.dates(), st.binary(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
SNIPPETS = (
    b"!!python/object/apply:os.system ['touch ran']",
    b"!!python/name:os.system",
    b"!!python/object/new:os.system [x]",
    b"!!int x",
    b"!!float x",
    b"!!bool x",
    b"!!timestamp x",
    b"!!binary '*'",
    b"!!set {a, b}",
    b"!!omap [a: 1]",
    b"!!null [a]",
    b"!unknown x",
    b"2001-99-99",
    b"190:20:30",
    b"0x" + b"f" * 4000,
    b"1" * 5000,
    b"1e999",
    b"&a [*a]",
    b"&a {k: *a}",
    b"<<: {a: 1}",
    b"<<: *a",
    b"? [a, b]\n: c",
    b"? {a: b}\n: c",
    b"--- a\n--- b",
    b"%YAML 9.9\n---",
    b"%TAG ! tag:x,2000:\n---",
    b"\x00",
    b"\x1b[31m",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    "\u2028\u0085".encode(),
    b'"\\ud800"',
    b"\t",
    b"[" * 3000,
    b"{a: " * 3000,
    b"- " * 3000,
    b"# " + b"x" * 300_000,
    b"a: [" + b"x, " * 50_000 + b"]",
    b"".join(b"k%d: 1\n" % i for i in range(4_000)),
    b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (98 + i, 98 + i, 97 + i, 97 + i) for i in range(24)),
)
WHOLE = (b"", b"null", b"[]", b"7", b"{}", b"\x00" * 1000, bytes(range(256)) * 4096, b"a: 1\n" * 2**18, *SNIPPETS)


def _places(value: object, here: tuple = ()) -> Iterator[tuple]:
    """The path of every value within a value."""
    yield here
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*here, key))


@st.composite
def as_data(draw: st.DrawFn, file: str) -> bytes:
    """A file of which some values were dropped, repeated, renamed, or replaced."""
    value = yaml.safe_load((CONFIGS / file).read_text())
    for _ in range(draw(st.integers(1, 3))):
        places = [place for place in _places(value) if place]
        if not places:  # all was dropped
            break
        *above, key = draw(st.sampled_from(places))
        owner = value
        for part in above:
            owner = owner[part]
        match draw(st.sampled_from(["drop", "replace", "rename", "repeat", "wrap", "swap"])):
            case "drop":
                del owner[key]
            case "replace":
                owner[key] = draw(VALUES)
            case "rename" if isinstance(owner, dict):
                owner[draw(TEXTS)] = owner.pop(key)
            case "repeat" if isinstance(owner, list):
                owner.extend([owner[key]] * draw(st.sampled_from([1, 3, 2000])))
            case "wrap":
                owner[key] = draw(
                    st.sampled_from([[owner[key]], {"x": owner[key]}, {key: owner[key]}, str(owner[key])])
                )
            case "swap":
                keys = list(owner) if isinstance(owner, dict) else range(len(owner))
                other = draw(st.sampled_from(keys))
                owner[key], owner[other] = owner[other], owner[key]
    dumper = yaml.SafeDumper
    dumper.ignore_aliases = lambda *_: True
    return yaml.dump(
        value, Dumper=dumper, allow_unicode=draw(st.booleans()), default_flow_style=draw(st.booleans())
    ).encode()


@st.composite
def as_bytes(draw: st.DrawFn, file: str) -> bytes:
    """A file of which some bytes or lines were dropped, repeated, or replaced by what parsers dislike."""
    content = (CONFIGS / file).read_bytes()
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 40)))
        ends = [i for i, byte in enumerate(content) if byte == 58] or [0]  # colons
        match draw(st.sampled_from(["cut", "insert", "value", "line", "noise"])):
            case "cut":
                content = content[:start] + content[end:]
            case "insert":
                content = content[:start] + draw(st.sampled_from(SNIPPETS)) + content[start:]
            case "value":
                at = draw(st.sampled_from(ends)) + 1
                content = content[:at] + b" " + draw(st.sampled_from(SNIPPETS)) + content[at:].partition(b"\n")[2]
            case "line":
                lines = content.splitlines(keepends=True) or [b""]
                lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
                content = b"".join(lines)
            case "noise":
                content = content[:start] + draw(st.binary(max_size=20)) + content[end:]
    return draw(st.sampled_from([content, content.decode("latin-1").encode("utf-16"), b"\xef\xbb\xbf" + content]))


FILE_AND_CONTENT = st.sampled_from(list(FILES)).flatmap(
    lambda file: st.tuples(st.just(file), st.one_of(as_data(file), as_bytes(file), st.sampled_from(WHOLE)))
)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """A block that must end, and within a bound of memory."""

    def hangs(*_: object) -> None:
        raise TimeoutError(f"it did not end within {SECONDS} s")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGALRM, hangs)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_MIB * 1024


def well_said(error: UserError) -> None:
    """A message has a printable line of readable length for each problem, and not too many."""
    lines = str(error).split("\n")
    assert 0 < len(lines) <= 101
    assert all(line.isprintable() and line.strip() and len(line) <= 2500 for line in lines)


def try_file(configs: Path, file: str, content: bytes) -> bool:
    """Load a spoiled file of a copy of the configuration; whether it was refused. Any other end is a failure."""
    path = configs / file
    path.write_bytes(content)
    try:
        with ending():
            FILES[file](configs)
    except UserError as error:
        well_said(error)
        return True
    finally:
        shutil.copy(CONFIGS / file, path)
    return False
