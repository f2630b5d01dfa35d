"""The repository that the library belongs to: where all is that a user does not name by a path."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
METHODS = REPOSITORY / "configs" / "methods"
CLAIMS = REPOSITORY / "configs" / "claims.yaml"


def study_file(given: str) -> Path:
    """A study's file: a path from the working directory, or ``NAME`` for the repository's configs/studies/NAME.yaml."""
    if "/" in given or given.endswith((".yaml", ".yml")):
        return Path(given)
    file, here = REPOSITORY / "configs" / "studies" / f"{given}.yaml", Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
