"""What a cell that was made again is told to differ in."""

import pytest

from ict_core.config.study_file import Cell
from ict_core.store.manifests import write_manifest
from ict_core.tools.place import Place
from ict_core.tools.verify.compare import changes_after

CELL = Cell("mini-s", "grpo", 0)


def made(folder, cpu: str, numerics: str) -> Place:
    """A cell whose training was on this CPU."""
    place = Place(folder, CELL)
    place.trained.mkdir(parents=True)
    machine = {"cpu": cpu, "cpu_flags": [f"flag of {cpu}"], "cores": 2, "gpus": []}
    content = {"platform": machine, "process": {"numerics": {"chosen": numerics}}}
    write_manifest(place.trained / "manifest.json", content)
    return place


@pytest.mark.parametrize(
    ("cpus", "numerics", "told"),
    [
        (("a", "b"), ("portable", "portable"), []),
        (("a", "a"), ("native", "native"), []),
        (("a", "b"), ("native", "native"), ["cpu", "cpu_flags"]),
        (("a", "b"), ("portable", "native"), ["cpu", "cpu_flags", "numerics"]),
    ],
)
def test_another_cpu_is_a_change_where_the_numerics_depend_on_it(tmp_path, cpus, numerics, told):
    stored, again = (made(tmp_path / str(i), cpus[i], numerics[i]) for i in range(2))
    lines = list(changes_after(stored, again, ["train"]))
    assert len(lines) == len(told) and all(any(name in line for line in lines) for name in told), lines
