"""What is done about imports."""

import gc
from importlib.util import find_spec

from ict_core.process import loading


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
