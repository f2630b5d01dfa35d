"""Reports the project's size and never fails: `python scripts/size.py`, at the end of `make lint`."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = {  # part -> its folder, and the endings of the files that are counted
    "ict_core": ("ict_core/", (".py", ".pyi")),
    "workflow": ("workflow/", (".smk", "Snakefile", ".py", ".yaml", ".rst")),
    "scripts": ("scripts/", (".py", ".sh")),
    "benchmarks": ("benchmarks/", (".py",)),
    "tests": ("tests/", (".py", ".c")),
}
NOT_COUNTED = {"docs/log.md", "CHANGELOG.md"}  # the log, the changelog, and the generated pages:
NOT_COUNTED |= {f"docs/{name}.md" for name in ("commands", "keys", "calibration", "bench-tables")}
GENERATED = re.compile(r"<!-- [\w-]+: python scripts/blocks\.py -->\n(.*?)<!-- end -->", re.DOTALL)
LONG = 5  # words from which on a string is prose


def files(prefix: str, endings: tuple[str, ...]) -> list[Path]:
    """The tracked files of a folder with one of these endings."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", prefix], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    paths = [REPOSITORY / name for name in listed.stdout.split("\0") if name.endswith(endings)]
    return [path for path in paths if path.is_file()]


def private_imports(tree: ast.AST) -> int:
    """The number of imports that take a private module or a private name of the library."""
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            imported.append([module + alias.name for alias in node.names])
    return sum(any(re.match(r"ict_core\.(\w+\.)*_[a-z]", name) for name in names) for names in imported)


def prose_assertions(tree: ast.AST) -> int:
    """The number of assertions, `match=` of `pytest.raises` included, with a string of at least :data:`LONG` words."""

    def strings(node: ast.AST) -> Iterator[str]:
        yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))

    asserted: list[ast.AST] = [node.test for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    asserted += [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "match"]
    return sum(any(len(re.findall(r"[^\W\d_]{2,}", text)) >= LONG for text in strings(node)) for node in asserted)


def main() -> None:
    """Print a line for each number."""
    for name, (prefix, endings) in PARTS.items():
        paths = files(prefix, endings) + ([REPOSITORY / "Snakefile"] if name == "workflow" else [])
        print(f"{sum(len(path.read_bytes().splitlines()) for path in paths):7,} lines of {name} in {len(paths)} files")
    pages = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")] + files("docs/", (".md",))
    pages = [path for path in pages if path.relative_to(REPOSITORY).as_posix() not in NOT_COUNTED]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    generated = sum(len(block.split()) for text in texts for block in GENERATED.findall(text))
    words = sum(len(text.split()) for text in texts)
    print(f"{words - generated:7,} words in {len(pages)} pages, and {generated:,} that scripts/blocks.py writes")
    trees = [ast.parse(path.read_bytes()) for path in files("tests/", (".py",))]
    print(f"{sum(map(private_imports, trees)):7,} imports of what is private in tests")
    print(f"{sum(map(prose_assertions, trees)):7,} assertions on {LONG} words or more in tests")


if __name__ == "__main__":
    main()
