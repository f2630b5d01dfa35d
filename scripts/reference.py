"""Writes the reference pages of the site: `python scripts/reference.py` rewrites each of :data:`PAGES`.

The commands come from their declarations. The keys come from the source of ict_core/config: type, default and the
comment beside each. The rates come from the stored calibration.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

REPOSITORY = Path(__file__).resolve().parents[1]
MODULES = {  # module of ict_core.config -> the heading of its sections
    "study_file": "A study: `configs/studies/<study>.yaml`",
    "tuning": "A study's tuning",
    "methods": "A recipe, `configs/training/<training>.yaml`, and every method, `configs/methods/<variant>.yaml`",
    "selectors": "The methods' selectors",
    "inputs": "Models, benchmarks and training sets: `configs/{models,benchmarks,data}/<name>.yaml`",
}


def commands_page() -> str:
    """Every subcommand of `ict` with its arguments."""
    from ict_core.commands.cli import app, declare
    from ict_core.jobs.command import GROUPS

    declare()
    root: Any = typer.main.get_command(app)
    visible = {name: command for name, command in root.commands.items() if not command.hidden}
    parts = [
        "# Commands\n",
        "`ict COMMAND --help` says the same. Made from the declarations by `python scripts/reference.py`.\n",
    ]
    for group in GROUPS:
        parts.append(f"## {group}\n")
        parts += [_command(name, command) for name, command in visible.items() if command.rich_help_panel == group]
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
    table = ["| | |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([f"### ict {name}\n", f"{command.help}\n", *table])


def _parameter(parameter: Any) -> str:
    shown = ", ".join(parameter.opts)
    if parameter.param_type_name == "argument":
        shown = (parameter.metavar or parameter.name).upper()
    text = " ".join((parameter.help or "").split())
    given = parameter.default
    if parameter.required:
        text = f"{text} (required)".strip()
    elif given not in (None, False, ()) and not callable(given) and not isinstance(given, (Path, list)):
        text = f"{text} (default: {given})".strip()
    return f"| `{shown}` | {_prose(text)} |"


def keys_page() -> str:
    """Every section of the configuration with its keys."""
    parts = [
        "# Keys of the configuration\n",
        "A key without a default must be stated. An unknown key, or a value that is none of those allowed, is refused "
        "before a job starts, with file, key, value and what is allowed. A file is one document of YAML 1.2 in UTF-8 "
        "without tags, anchors and aliases, of at most 100,000 bytes and 20 levels. Made from `ict_core/config/` by "
        "`python scripts/reference.py`.\n",
    ]
    for module, title in MODULES.items():
        parts += [f"## {title}\n", *_sections(module)]
    return "\n".join(parts)


def _sections(name: str) -> Iterator[str]:
    from ict_core.config.section import Section

    module = import_module(f"ict_core.config.{name}")
    source = inspect.getsource(module)
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        section = getattr(module, node.name)
        if not issubclass(section, Section) or not section.model_fields:
            continue
        bases = [ast.unparse(base).strip("_") for base in node.bases if ast.unparse(base) != "Section"]
        schema = section.model_json_schema()
        rows = [row for line in node.body if isinstance(line, ast.AnnAssign) for row in _key(line, lines, schema)]
        table = ["| key | value | |", "|---|---|---|", *rows, ""] if rows else []
        inherited = f" {'Beside these the' if rows else 'The'} keys of {', '.join(bases)}." if bases else ""
        doc = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
        yield "\n".join([f"### {node.name.strip('_')}\n", f"{doc}{inherited}\n", *table])


def bounds(schema: Any) -> Iterator[str]:
    """The bounds of the numbers in a JSON schema, in words."""
    words = {"minimum": "at least", "exclusiveMinimum": "above", "exclusiveMaximum": "below", "maximum": "at most"}
    if isinstance(schema, dict):
        found = {word: schema[key] for key, word in words.items() if key in schema}
        yield from (f"{word} {v:,}" if isinstance(v, int) else f"{word} {v:g}" for word, v in found.items())
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from bounds(part)


_KINDS = {
    "integer": "whole number",
    "string": "text",
    "boolean": "`true` or `false`",
    "null": "none",
    "object": "mapping",
}


def _kind(schema: Any, definitions: Any) -> str:
    """The type of a value in words; a section is given by its name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name.strip("_") if "properties" in definitions[name] else _kind(definitions[name], definitions)
    if alternatives := schema.get("anyOf", schema.get("oneOf")):
        return " or ".join(dict.fromkeys(_kind(alternative, definitions) for alternative in alternatives))
    if allowed := schema.get("enum", [schema["const"]] if "const" in schema else None):
        return ", ".join(f"`{value}`" for value in allowed)
    if schema.get("type") == "array":
        kind = _kind(schema.get("items") or schema.get("prefixItems", [{}])[0], definitions)
        return f"list of {kind}{'s' if kind.endswith('number') else ''}"
    kind = schema.get("type", "any value")
    return _KINDS.get(kind, kind)


def _key(line: ast.AnnAssign, lines: list[str], stated: dict[str, Any]) -> Iterator[str]:
    if ast.unparse(line.annotation).startswith("ClassVar"):
        return
    schema = stated["properties"][ast.unparse(line.target)]
    source = "\n".join(lines[line.lineno - 1 : line.end_lineno])
    comment = re.search(r"#\s*(?:type: ignore\S*\s*#\s*)?(.+)$", source, re.MULTILINE)
    notes = [comment[1]] if comment else []
    default = "" if line.value is None else ast.unparse(line.value)
    if default.startswith("Field("):
        call = ast.parse(default, mode="eval").body
        assert isinstance(call, ast.Call)
        arguments = {str(keyword.arg): ast.unparse(keyword.value) for keyword in call.keywords}
        notes += [f"of the form {arguments['pattern']}"] if "pattern" in arguments else []
        notes += [ast.literal_eval(arguments["description"])] if "description" in arguments else []
        default = arguments.get("default", "")
    notes += dict.fromkeys(bounds(schema))
    if default and default != "None":
        notes.append(f"default: {default}")
    yield f"| `{ast.unparse(line.target)}` | {_kind(schema, stated.get('$defs', {}))} | {_prose('; '.join(notes))} |"


def _prose(text: str) -> str:
    """Escape a table cell's text outside code, so that a placeholder in angle brackets is not read as an HTML tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def calibration_page() -> str:
    """The rates that the simulations measured."""
    from calibration import tables

    from ict_core.statistics.calibrated import stored

    parts = [
        "# Calibration\n",
        "How often intervals and tests are right where the truth is known, by simulation. "
        "[statistics.md](statistics.md) says what follows. Made from `ict_core/statistics/calibration.csv` by "
        "`python scripts/reference.py`.\n",
        "Each cell has per cent at 3 / 5 / 10 seeds, in the table of one run one figure; `-`: does not apply. All are "
        "of 4,000 repetitions (standard error at most 0.8 points, 0.35 where the rate is 5 or 95). **Bold** is out of "
        "bounds: a nominal 95 % interval outside 92 to 98, a nominal 5 % test above 6. Roles: *primary* decides "
        "(t below 10 seeds, sign flips from 10); *second view* is shown beside it; *other truth*: a sound interval, "
        "held against what it does not claim; *unsafe* is popular and decides nothing here.\n",
        *(f"## {caption}\n\n{text}\n" for caption, text in tables(stored()).items()),
    ]
    return "\n".join(parts)


PAGES = {"commands.md": commands_page, "keys.md": keys_page, "calibration.md": calibration_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (REPOSITORY / "docs" / name).write_text(page(), encoding="utf-8")
