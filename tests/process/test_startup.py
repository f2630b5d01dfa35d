"""What is done about imports."""

import gc
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from ict_core.process.startup import loading


def test_a_package_that_is_left_out_counts_as_not_installed(tmp_path, monkeypatch):
    (tmp_path / "an_optional_package.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert find_spec("an_optional_package") is not None
    with loading(without=("an_optional_package",)):
        pass
    assert find_spec("an_optional_package") is None


@pytest.mark.slow
def test_transformers_loads_without_scipy_where_scikit_learn_is_installed(tmp_path):
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn/__init__.py").touch()
    (tmp_path / "sklearn/metrics.py").write_text("import scipy.sparse\nroc_curve = None\n")
    program = """
from ict_core.process.startup import loading
with loading(without=("scipy",)):
    from transformers import LlamaForCausalLM
"""
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    subprocess.run([sys.executable, "-c", program], env=os.environ | path, check=True)


def test_garbage_is_collected_again_after_loading_and_what_was_loaded_is_left_alone():
    gc.unfreeze()
    with loading():
        assert not gc.isenabled()
        kept: list = []
    assert gc.isenabled() and not any(kept is thing for thing in gc.get_objects())
    gc.unfreeze()
    assert any(kept is thing for thing in gc.get_objects())
