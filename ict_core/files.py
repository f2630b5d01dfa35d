"""Texts that appear whole or not at all."""

from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a text by an atomic rename; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)
