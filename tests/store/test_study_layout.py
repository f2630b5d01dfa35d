"""The folders of `results` that are the project's own, and the measured frames."""

import re
from pathlib import Path

from ict_core.evidence.stored import MEASURED
from ict_core.store import layout
from ict_core.store.layout import RESERVED

ROOT = Path(__file__).parents[2]


def test_every_folder_of_results_is_a_study_s_or_declared_as_the_project_s_own():
    files = [ROOT / "Makefile", ROOT / ".gitignore", ROOT / "Snakefile"]
    files += [*(ROOT / "ict_core").rglob("*.py"), *(ROOT / "workflow").rglob("*.smk"), ROOT / "workflow/Snakefile"]
    texts = [path.read_text() for path in files]
    named = {name for text in texts for name in re.findall(r"\bresults/([a-z][a-z0-9._-]*)", text)}
    named |= set(re.findall(r'Path\("results", "([a-z-]+)"', Path(layout.__file__).read_text()))
    studies = {path.stem for path in ROOT.glob("configs/studies/*.yaml")}
    assert named - studies == RESERVED.keys()
    assert not studies & RESERVED.keys()


def test_every_measured_frame_has_its_file_and_its_schema():
    assert {*layout.FRAMES, layout.LEARNING_CURVE} == set(MEASURED)
