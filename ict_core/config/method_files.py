"""Reads `configs/methods/<variant>.yaml`: all keys of a rule, or `of`, the variant it varies, and the changed key."""

from pathlib import Path
from typing import Any, get_args

from ict_core.config.methods import Factor, Method
from ict_core.config.mistakes import Mistakes, refused
from ict_core.config.section import check_section, read_yaml
from ict_core.config.selectors import method_schema, selector_sections
from ict_core.errors import UserError

_MOST = 2  # steps from a variant to a file that states all keys: the control of an ablation is two from its rule


def load_methods(folder: Path) -> dict[str, Method]:
    """Every variant of a folder like `configs/methods` by name, in the order of the names.

    Raises:
        UserError: the folder does not exist or has no variant, or a variant is wrong; one line for each problem.
    """
    files = sorted(folder.glob("*.yaml"), key=lambda file: file.stem)
    if not files:
        raise UserError(f"{folder}: no methods; allowed: a folder of files like configs/methods/ict-10.yaml")
    mistakes = Mistakes()
    read = {file.stem: read_method(file, mistakes) for file in files}
    mistakes.raise_if_any()
    return {name: method for name, method in read.items() if method is not None}


def load_method(path: Path) -> Method:
    """Read and check one variant's file, like `configs/methods/ict-10.yaml`; what it varies is in the same folder.

    Raises:
        UserError: something is wrong with it, one line for each problem; if it is missing, the files beside it.
    """
    mistakes = Mistakes()
    method = read_method(path, mistakes)
    mistakes.raise_if_any()
    assert method is not None  # a file that was not read has a problem
    return method


def read_method(file: Path, mistakes: Mistakes, variants: tuple[Path, ...] = ()) -> Method | None:
    """A variant with the keys of its file, the others from the variant it is `of`; None where a problem was noted.

    `variants` are the files that led here, each one `of` the next.
    """
    content = read_yaml(file, mistakes)
    if isinstance(content, dict) and "of" in content:
        content = _filled(file, content, mistakes, variants)
    elif isinstance(content, dict) and "ablation" in content:
        mistakes.add(file, refused("ablation", content["ablation"], "`of`, the variant, with the key that differs"))
        return None
    selector = content.get("selector") if isinstance(content, dict) else None  # its section is faster than the union
    schema = selector_sections().get(str(selector)) or method_schema()
    return None if content is None else check_section(file, content, schema, mistakes)


def _filled(file: Path, content: dict[str, Any], mistakes: Mistakes, variants: tuple[Path, ...]) -> Any:
    """All keys of a variant that states `of`, one other key and perhaps its source; None where a problem was noted."""
    of, own = content["of"], [key for key in content if key not in ("of", "source")]
    beside = {other.stem: other for other in sorted(file.parent.glob("*.yaml"))}
    base = beside.get(str(of))
    if len(own) != 1:
        allowed = f"with one other key, by which it differs; here are {', '.join(own) or 'none'}"
        mistakes.add(file, refused("of", of, allowed))
    elif own[0] not in get_args(Factor):
        allowed = f"one of the keys {', '.join(get_args(Factor))} beside `of` (`Factor` in config/methods.py)"
        mistakes.add(file, refused(own[0], content[own[0]], allowed))
    elif base is None:
        mistakes.add(file, refused("of", of, f"one of {', '.join(beside)}"))
    elif base in (file, *variants):
        mistakes.add(file, refused("of", of, f"a variant that is not itself of {file.stem!r}"))
    elif len(variants) == _MOST:
        allowed = f"at most {_MOST} steps to a file without `of`, and {base.stem!r} is one more"
        mistakes.add(variants[0], refused("of", variants[1].stem, allowed))
    elif varied := read_method(base, mistakes, (*variants, file)):
        stated = {own[0]: content[own[0]], "source": content.get("source", varied.source)}
        return varied.settings() | stated | {"ablation": {"of": of, "factor": own[0]}}
    return None
