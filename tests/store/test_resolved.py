"""An engine's settings as JSON."""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

from ict_core.store.manifests import resolved


class Mode(Enum):
    FAST = 1


@dataclass
class Inner:
    dtype: Any = torch.float32
    mode: Mode = Mode.FAST
    download_dir: str = "somewhere"
    master_port: int = 4711


@dataclass
class Outer:
    model: str = "/home/someone/model"
    instance_id: str = "a1b2"
    inner: Inner = field(default_factory=Inner)
    sizes: tuple = (1, 2.5, None)
    names: set = field(default_factory=lambda: {"b", "a"})
    limit: float = float("inf")
    cache: str = "~/cache"
    hook: Any = object()


def test_defaults_are_kept_and_places_and_processes_left_out():
    found = resolved(Outer())
    assert found == {
        "inner": {"dtype": "torch.float32", "mode": "FAST"},
        "sizes": [1, 2.5, None],
        "names": ["a", "b"],
        "limit": "inf",
        "cache": "a path",
        "hook": "object",
    }
    json.dumps(found, allow_nan=False)
