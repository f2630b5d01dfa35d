"""Text problems with exact answers from generators: those of the package reasoning-gym, or this project's own."""

import sys
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, module_from_spec
from typing import Any

from ict_core.config.inputs import GeneratorSet
from ict_core.errors import UserError, one_line
from ict_core.problems.published import _one_step
from ict_core.seeding import derive_seed

_HELD_OUT = 32  # of the 256 possible first bytes of a question's hash: one question in eight
_PATIENCE = 64  # draws per requested problem


def generators(stated: GeneratorSet) -> list[Any]:
    """The set's generators, each an indexed sequence of {"question", "answer"}.

    Raises:
        UserError: the package is missing or another version, or has no such generator or no such options.
    """
    is_own = stated.package == "ict-core"
    try:
        found = _one_step.VERSION if is_own else version(stated.package)
    except PackageNotFoundError:
        found = "none"
    if found != stated.version:
        mend = f"state {found}" if is_own else f"pip install --no-deps {stated.package}=={stated.version}"
        fault = f"{stated.version} of {stated.package} is stated and {found} is installed; {mend}"
        raise UserError(f"{stated.file}: version: {fault}")
    return [_generator(stated, index) for index in range(len(stated.generators))]


def _generator(stated: GeneratorSet, index: int) -> Any:
    entry, package = stated.generators[index], stated.package.replace("-", "_")
    module, place = f"{package}.{entry.dataset}", f"{stated.file}: generators[{index}]"
    folder = module.rpartition(".")[0]
    size = _PATIENCE * stated.rows
    seed = derive_seed(stated.seed, "generator", index)
    try:
        if stated.package == "ict-core":
            create: Any = _one_step.create_dataset
        else:
            for name in (package, folder):
                _without_its_code(name, place)
            import_module(module)
            create = import_module(f"{package}.factory").create_dataset
        return create(entry.dataset.rpartition(".")[2], seed=seed, size=size, **entry.options)
    except UserError:
        raise
    except ModuleNotFoundError as error:
        fault = f"{stated.package} has no such module" if error.name == module else f"it needs the package {error.name}"
        raise UserError(f"{place}.dataset: {entry.dataset!r}: {fault}; allowed: a generator that needs none") from None
    except Exception as error:  # from the package, whose checks are assertions
        raise UserError(f"{place}: {entry.dataset} with {entry.options}: {one_line(error, 300)}") from None


def _without_its_code(name: str, place: str) -> None:
    """Register a folder of the package without running `__init__.py`, which imports generators that are not needed."""
    if name not in sys.modules:
        try:
            spec = find_spec(name)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            raise UserError(f"{place}.dataset: there is no {name}; allowed: a folder and a module of the package's")
        sys.modules[name] = module_from_spec(spec)


def questions(stated: GeneratorSet) -> dict[str, tuple[str, str | None]]:
    """The set's `rows` questions, equally many per generator, with answer and worked solution (None without one).

    Raises:
        UserError: see :func:`generators`; or a generator has too few distinct problems, or fails.
    """
    made = generators(stated)
    answers: dict[str, tuple[str, str | None]] = {}
    for index, dataset in enumerate(made):
        target = stated.rows * (index + 1) // len(made)
        try:
            for number in range(len(dataset)):
                if len(answers) == target:
                    break
                entry = dataset[number]
                question = entry["question"].strip()
                if (sha256(question.encode()).digest()[0] < _HELD_OUT) == stated.held_out:
                    answers.setdefault(question, (entry["answer"].strip(), entry.get("solution")))
        except Exception as error:  # from the package
            raise UserError(f"{stated.file}: generators[{index}]: {one_line(error, 300)}") from None
        if len(answers) < target:
            fewer = f"{len(answers)} of {target} distinct problems in {len(dataset)} draws; allowed: fewer rows, or "
            raise UserError(f"{stated.file}: generators[{index}]: {fewer}options that make more")
    return answers
