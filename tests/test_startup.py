"""What is done about imports."""

import gc
import os
import subprocess
import sys
from importlib.util import find_spec

from ict_core.startup import loading


def test_a_package_that_is_left_out_counts_as_not_installed(tmp_path, monkeypatch):
    (tmp_path / "an_optional_package.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert find_spec("an_optional_package") is not None
    with loading(without=("an_optional_package",)):
        pass
    assert find_spec("an_optional_package") is None


def test_garbage_is_collected_again_after_loading_and_what_was_loaded_is_left_alone():
    gc.unfreeze()
    with loading():
        assert not gc.isenabled()
        kept: list = []
    assert gc.isenabled() and not any(kept is thing for thing in gc.get_objects())
    gc.unfreeze()
    assert any(kept is thing for thing in gc.get_objects())


def test_numpy_computes_with_what_every_x86_64_cpu_has():
    """Fails on a CPU with AVX-512 alone, where exp and log would round otherwise than on others."""
    used = "[f for f in c.__cpu_dispatch__ if c.__cpu_features__[f] and ('AVX512' in f or f == 'X86_V4')]"
    code = f"import ict_core, numpy._core._multiarray_umath as c; print({used})"
    environment = {name: value for name, value in os.environ.items() if name != "NPY_DISABLE_CPU_FEATURES"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
