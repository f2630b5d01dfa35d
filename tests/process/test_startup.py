"""What is done about imports."""

import gc
import sys
from importlib.util import find_spec

from ict_core.process.startup import loading


def test_a_package_that_is_left_out_counts_as_not_installed_and_so_do_those_that_need_it(tmp_path, monkeypatch):
    for name in ("an_optional_package", "sklearn"):
        (tmp_path / f"{name}.py").touch()
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "scipy", sys.modules.get("scipy"))
    monkeypatch.syspath_prepend(tmp_path)
    assert find_spec("an_optional_package") is not None and find_spec("sklearn") is not None
    with loading(without=("an_optional_package", "scipy")):
        pass
    assert find_spec("an_optional_package") is None and find_spec("sklearn") is None


def test_garbage_is_collected_again_after_loading_and_what_was_loaded_is_left_alone():
    gc.unfreeze()
    with loading():
        assert not gc.isenabled()
        kept: list = []
    assert gc.isenabled() and not any(kept is thing for thing in gc.get_objects())
    gc.unfreeze()
    assert any(kept is thing for thing in gc.get_objects())
