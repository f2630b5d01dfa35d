"""Rollouts by vLLM in a script of one's own, corrected as TRL's arguments say: TRL's own training to the bit."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ict_core.process import numerics

SCRIPT = Path(__file__).with_name("own_script_vllm.py")


def told(checkpoint, kind, mode, folder):
    out = folder / f"{kind}.json"
    inherited = {name: value for name, value in os.environ.items() if name not in numerics.PINS}  # those of these tests
    environment = inherited | {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1"}
    if kind == "trl":  # which takes 29500 where it is free, as any other vLLM of these tests would
        with socket.create_server(("localhost", 0)) as free:
            environment["MASTER_PORT"] = str(free.getsockname()[1])
    command = [sys.executable, str(SCRIPT), str(checkpoint), kind, mode, str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert out.exists(), (done.stdout + done.stderr)[-4000:]
    return json.loads(out.read_text())


@pytest.mark.long
@pytest.mark.parametrize("mode", ["sequence_mask", "token_truncate"])
def test_every_token_kept_is_trl_itself_to_the_bit_by_rollouts_of_vllm(tiny_checkpoint, tmp_path, mode):
    trl, own = (told(tiny_checkpoint, kind, mode, tmp_path) for kind in ("trl", "own"))
    assert own["weights"] == trl["weights"] and own["losses"] == trl["losses"]
    assert own["port"] != "29500"  # TRL's first choice, which a training beside it makes too
    assert any(own["losses"]) and max(own["corrected"]) > 0
