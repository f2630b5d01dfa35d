"""A test that needs what requirements/system.txt lists and is not here is skipped, with the mend, or fails."""

import pytest
import system


def test_a_test_that_lacks_a_package_is_skipped_with_the_mend_or_fails(monkeypatch):
    parts = {"here": ["python3|sh", "module:json"], "absent": ["python3", "no_such"], "also-absent": ["module:no_such"]}
    monkeypatch.setattr(system, "listed", lambda: parts)
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    system.needs("here")
    with pytest.raises(pytest.skip.Exception) as skipped:
        system.needs("here", "absent", "also-absent")
    assert str(skipped.value) == f"{system.INSTALL} absent also-absent"
    assert system.named([skipped.value, "another reason"]) == ["absent", "also-absent"]
    monkeypatch.setenv("REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="also-absent"):
        system.needs("also-absent")


def test_every_package_of_the_list_has_a_part_and_a_reason():
    lines = [line for line in system.LIST.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(system.listed()) and all(system.listed().values())
    assert all(line.partition("#")[2].strip() for line in lines)
