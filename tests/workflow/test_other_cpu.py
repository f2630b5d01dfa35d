"""Portable numerics on processors that this one pretends to be: the same bits of every operation, the same cell."""

import json
import os
import subprocess
import sys

import pytest
from other_cpu import CPUS, preloaded
from repository_copy import REPOSITORY, Copy

from ict_core.process import numerics

pytestmark = pytest.mark.slow
OPERATIONS = """
import hashlib, json, sys
from ict_core.process import numerics
numerics.use(sys.argv[1])
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.compute as pc, scipy.linalg, scipy.special, scipy.stats, torch
torch.set_num_threads(1)
draw = torch.Generator().manual_seed(0)
bits = {}
def keep(name, values):
    bits[name] = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
for m, k, n in (3000, 96, 288), (96, 3000, 288), (1, 96, 96), (7, 33, 5), (500, 96, 352), (64, 4864, 896):
    a, b = torch.randn(m, k, generator=draw), torch.randn(k, n, generator=draw)
    keep(f"{m} x {k} x {n}", a @ b)
    keep(f"{m} x {k} x {n}, transposed", a.T.contiguous().T @ b.T.contiguous().T)
with numerics.products():  # of a training; K beyond the blocks of OpenBLAS too, on one thread and on two
    for threads in 1, 2:
        torch.set_num_threads(threads)
        for m, k, n in (9000, 64, 352), (352, 9000, 64), (256, 64, 320), (1, 96, 96), (7, 33, 5), (64, 4864, 896):
            a, b = torch.randn(m, k, generator=draw), torch.randn(n, k, generator=draw)
            keep(f"a training's {m} x {k} x {n} on {threads}", a @ b.T)
            keep(f"a training's {m} x {k} x {n} on {threads}, transposed", a.T.contiguous().T @ b.T.contiguous())
        heads = torch.randn(64, 50, 32, generator=draw)
        keep(f"a training's batched products on {threads}", torch.bmm(heads, heads.mT))
    torch.set_num_threads(1)
heads = torch.randn(3, 12, 3, 50, 32, generator=draw)
keep("attention", torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True))
keep("products", heads[0] @ heads[1].transpose(-1, -2))
x = torch.randn(1000, 352, generator=draw) * 3
for name in "exp", "tanh", "erf", "sin", "sigmoid":
    keep(name, getattr(torch, name)(x))
for name in "log_softmax", "softmax", "logsumexp", "cumsum", "var":
    keep(name, getattr(torch, name)(x, -1))
keep("log", (x.abs() + 0.1).log())
keep("root", x.abs().sqrt())
for name, value in ("sum", x.sum()), ("norm", x.norm()), ("matrix x vector", x @ x[0]), ("dot", x[0] @ x[1]):
    keep(name, value)
keep("float64", x.double() @ x.double().T)
keep("bfloat16", (x.bfloat16() @ x.bfloat16().T).float())
keep("singular values", torch.linalg.svdvals(x[:64, :32]))
keep("random", torch.randn(100, generator=draw))
a = np.random.default_rng(0).normal(size=(300, 352))
for name in "exp", "log", "sin", "tanh", "expm1", "log1p", "sqrt":
    keep(f"numpy {name}", getattr(np, name)(abs(a) + 0.1))
for name, value in ("power", abs(a) ** 1.7), ("product", a @ a.T), ("mean", a.mean(0)), ("std", a.std()):
    keep(f"numpy {name}", value)
keep("numpy least squares", np.linalg.lstsq(a, a[:, 0], rcond=None)[0])
keep("scipy solve", scipy.linalg.solve(a[:, :300], a[:, 0]))
keep("scipy erf", scipy.special.erf(a))
keep("scipy t", [scipy.stats.t.ppf(0.975, 3.3), scipy.stats.nct.cdf(1.2, 3.3, 0.7)])
keep("arrow", [f(pa.array(a.ravel())).as_py() for f in (pc.sum, pc.variance, pc.mean)])
keep("pandas", [pd.Series(a.ravel()).mean(), pd.Series(a.ravel()).std()])
numerics.check()
print(json.dumps([bits, numerics.in_force()]))
"""


def bits(chosen: str, **variables: str) -> tuple[dict[str, str], dict[str, str]]:
    """The hash of each operation's result, and what the libraries say that they use."""
    free = {name: value for name, value in os.environ.items() if name not in numerics.PINS}
    command = [sys.executable, "-c", OPERATIONS, chosen]
    done = subprocess.run(command, env=free | variables, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return tmp_path_factory.mktemp("cpu")


@pytest.mark.long
def test_portable_numerics_give_the_same_bits_on_other_cpus_and_native_ones_do_not(library):
    here, held = bits("portable")
    for cpu in CPUS:
        there, held_there = bits("portable", **preloaded(library, cpu))
        assert [name for name in here if there[name] != here[name]] == [], cpu
        assert held_there == held
    native = [bits("native", **preloaded(library, cpu))[0] for cpu in ("avx2", "amd-avx2")]
    differ = {name for name in here if native[0][name] != native[1][name]}
    assert {"exp", "7 x 33 x 5"} <= differ  # of one instruction set, by the vendor alone


@pytest.mark.long
@pytest.mark.skipif("avx512vl" not in numerics.cpu_flags(), reason="this CPU has no AVX-512")
def test_wider_portable_numerics_change_products_alone_and_give_the_same_bits_on_another_vendor_s_cpu(library):
    here, held = bits("portable-avx512")
    narrow, _ = bits("portable")
    linear_algebra = ("a training's", "numpy product", "numpy least squares", "scipy solve")
    differ = {name for name in here if here[name] != narrow[name]}
    assert "a training's 9000 x 64 x 352 on 1" in differ and all(name.startswith(linear_algebra) for name in differ)
    assert [here, held] == bits("portable-avx512", **preloaded(library, "amd"))


@pytest.mark.long
def test_a_cell_is_the_same_bytes_on_another_cpu(library, uninterrupted, tmp_path):
    copy = Copy(tmp_path / "copy", uninterrupted)
    copy.environment |= preloaded(library, "amd-avx2")
    told = copy.done("ict", "verify", "results/smoke/mini-xs/ict-10/seed-0", "--keep", "again")
    assert "equal: all 10 are the same" in told
    made = json.loads((copy.folder / "again/mini-xs/ict-10/seed-0/generation.json").read_text())
    assert made["process"]["numerics"]["vllm"] == "_C_AVX2"


def test_every_job_of_a_study_was_held(uninterrupted):
    names = ("manifest.json", "generation.json", "grading.json")
    files = [file for name in names for file in (uninterrupted / "results/smoke/mini-xs").rglob(name)]
    jobs = [content for file in files if "stage" in (content := json.loads(file.read_text()))]
    assert {job["stage"] for job in jobs} == {"pretrain", "train", "generate", "grade"}
    for job in jobs:
        used = job["process"]["numerics"]
        held = {"chosen": "portable", "numpy": "AVX2", "arrow": "avx2"}
        if job["stage"] in ("pretrain", "train") or job.get("completions"):
            held |= {"torch": "AVX2", "mkl": "COMPATIBLE"}
        if job.get("completions"):
            held["vllm"] = "_C_AVX2"
        assert {name: used.get(name) for name in held} == held
        assert "avx2" in job["platform"]["cpu_flags"]
