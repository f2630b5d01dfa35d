"""The recipes of docs/recipes.md: the commands of their steps, as a reader pastes them."""

import re
import subprocess

from repository_copy import REPOSITORY, Copy

RECIPES = ("Add a method", "Add a benchmark", "Add a model")
_TEXT = (REPOSITORY / "docs/recipes.md").read_text(encoding="utf-8")


def steps(title: str) -> list[str]:
    """The commands of each step of a recipe."""
    recipe = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", _TEXT, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^```bash\n(.*?)^```$", recipe, re.DOTALL | re.MULTILINE)


def follow(copy: Copy, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run a recipe's commands in a copy of the repository; they must succeed."""
    done = copy.run("bash", "-e", "-c", "\n".join(commands))
    assert done.returncode == 0, done.stdout
    return done
