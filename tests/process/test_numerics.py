"""Portable numerics: what each library is held to, told and checked, whenever it is imported."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from ict_core.errors import UserError
from ict_core.process import numerics
from ict_core.process.machine import hardware_class, this_process

LIBRARIES = "import numpy, pyarrow, scipy.linalg, torch"
HELD = {"torch": "AVX2", "roots": "IEEE 754", "mkl": "COMPATIBLE", "numpy": "AVX2", "arrow": "avx2"}
OPENBLAS = {"portable": "Haswell", "portable-avx512": "SkylakeX"}
AVX512 = pytest.mark.skipif("avx512vl" not in numerics.cpu_flags(), reason="this CPU has no AVX-512")
PORTABLE = ("portable", pytest.param("portable-avx512", marks=AVX512))
TELL = "import json; print(json.dumps(numerics.in_force()))"


def run(*lines: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Python in an environment without any of the variables but those given."""
    free = {name: value for name, value in os.environ.items() if name not in numerics.PINS}
    program = "\n".join(["from ict_core.process import numerics", *lines])
    return subprocess.run(
        [sys.executable, "-c", program], env=free | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("chosen", PORTABLE)
def test_every_library_is_held_and_says_so_until_native_numerics_are_chosen(chosen):
    native = ("numerics.use('native')", "with numerics.products():", f"    {TELL}")
    done = run(f"numerics.use('{chosen}')", LIBRARIES, "numerics.check()", TELL, *native)
    assert done.returncode == 0, done.stderr
    held, let_go = map(json.loads, done.stdout.splitlines())
    assert held == HELD | {"openblas": OPENBLAS[chosen]} and not let_go.keys() & {"roots", "products"}


@pytest.mark.parametrize("library", ["numpy", "pyarrow"])
def test_a_library_that_was_imported_before_is_refused_by_name(library):
    done = run(f"import {library}", "numerics.use('portable')")
    assert done.returncode == 1
    assert re.search(rf"portable .*after the import of [\w, ]*\b{library}\b", done.stderr)
    assert run(f"import {library}", "numerics.use('portable')", **numerics.PINS).returncode == 0  # held from its start


def test_a_library_that_evades_is_found_by_the_check():
    done = run(
        "numerics.use('portable')", "import os; os.environ['MKL_CBWR'] = 'AVX2'", "import torch", "numerics.check()"
    )
    assert done.returncode == 1 and "mkl uses " in done.stderr and "wanted COMPATIBLE" in done.stderr


def test_what_a_user_has_set_gives_way_and_comes_back_for_native():
    mine = {"ATEN_CPU_CAPABILITY": "default", "NPY_DISABLE_CPU_FEATURES": "AVX2"}
    names = [*mine, "MKL_CBWR"]
    tell = f"import os, json; print(json.dumps([os.environ.get(name) for name in {names}]))"
    done = run("numerics.use('portable')", tell, "numerics.use('native')", tell, **mine)
    assert done.returncode == 0, done.stderr
    assert [*map(json.loads, done.stdout.splitlines())] == [["avx2", None, "COMPATIBLE"], ["default", "AVX2", None]]


@AVX512
def test_products_with_avx_512_are_the_bytes_that_another_cpu_gave():
    """Of an AMD EPYC of family 26; longer sums than one block of OpenBLAS, in either order of the factors."""
    done = run(
        "import hashlib",
        "numerics.use('portable-avx512')",
        "import numpy, torch",
        "a, b = (torch.randn(n, 1000, generator=torch.Generator().manual_seed(n)) for n in (257, 130))",
        "with numerics.products():",
        "    for product in a @ b.T, (b @ a.T).T:",
        "        print(hashlib.sha256(product.contiguous().numpy().tobytes()).hexdigest()[:16])",
    )
    assert done.stdout.split() == ["5379ca481c3b775f"] * 2, done.stderr


def test_numerics_with_avx_512_refuse_a_cpu_without_and_a_process_that_holds_narrower_kernels(monkeypatch):
    narrow, wide = ("avx2", "f16c", "fma"), ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl")
    monkeypatch.setattr(numerics, "cpu_flags", lambda: (*narrow, *wide))
    with pytest.raises(UserError, match="portable-avx512 was chosen after the import of numpy"):
        numerics.use("portable-avx512")
    monkeypatch.setattr(numerics, "cpu_flags", lambda: narrow)
    with pytest.raises(UserError, match="portable-avx512 needs .*lacks avx512bw, avx512cd.*`numerics: portable`"):
        numerics.use("portable-avx512")
    assert numerics.chosen() == "portable"


def test_a_cpu_without_avx2_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(numerics, "cpu_flags", lambda: ("avx", "sse4_2"))
    with pytest.raises(UserError, match="portable .*lacks avx2, f16c, fma.*`numerics: native`"):
        numerics.use("portable")


def test_native_numerics_let_libraries_choose_and_deterministic_ones_hold_torch_in_a_training_and_vllm():
    tell = "print(json.dumps([torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic]))"
    own = f"print(json.dumps([os.environ.get(name) for name in {[*numerics.DETERMINISTIC]}]))"
    native = ("numerics.use('portable')", "numerics.use('native')", "import json, os, sys, torch", "numerics.check()")
    training = ("numerics.use('deterministic')", own, tell, "with numerics.products(): " + tell, tell)
    late = ("sys.modules['vllm'] = sys", "numerics.use('deterministic')")
    done = run(*native, TELL, *training, "numerics.use('native')", own, *late)
    chosen, *found = map(json.loads, done.stdout.splitlines())
    assert chosen["mkl"] == "off"
    free = [None] * len(numerics.DETERMINISTIC)
    held = [*numerics.DETERMINISTIC.values()]
    assert found == [held, [False] * 2, [True] * 2, [False] * 2, free]
    assert done.returncode == 1 and re.search("deterministic .* import of vllm", done.stderr), done.stderr


def test_manifests_record_deterministic_numerics(monkeypatch):
    for name, value in numerics.DETERMINISTIC.items():
        monkeypatch.setenv(name, value)
    assert numerics.DETERMINISTIC.items() <= this_process()["flags"].items()
    gpus = {"cpu": "a", "cpu_flags": [], "gpus": ["b"]}
    native, held = (hardware_class(gpus, {"numerics": {"chosen": chosen}}) for chosen in ("native", "deterministic"))
    assert native != held  # one's completions are not taken for the other's


def test_the_flags_are_those_of_the_kernel():
    flags = numerics.cpu_flags()
    assert {"avx2", "fma", "f16c", "sse2"} <= set(flags) and list(flags) == sorted(flags)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_roots_are_the_nearest_numbers_however_they_are_taken(dtype):
    """MKL's, which torch would take, are not: one in six differs, and which, each vendor of processors has its own."""
    x = torch.rand(20_001, dtype=dtype, generator=torch.Generator().manual_seed(0)) * 3
    exact = np.sqrt(x.numpy())
    turned = x[:20_000].view(100, 200).T
    assert np.array_equal(x.sqrt().numpy(), exact) and np.array_equal(turned.sqrt().numpy(), np.sqrt(turned.numpy()))
    assert np.array_equal(x.clone().sqrt_().numpy(), exact)
    assert np.array_equal(torch.sqrt(x, out=torch.empty(0, dtype=dtype)).numpy(), exact)
    assert np.array_equal(torch._foreach_sqrt([x])[0].numpy(), exact)
    assert x[0].sqrt().item() == exact[0] and torch.equal(torch.tensor([4, 9]).sqrt(), torch.tensor([2.0, 3.0]))
    assert torch.tensor([-1.0]).sqrt().isnan().all() and torch.tensor([4.0]).bfloat16().sqrt().dtype == torch.bfloat16
    leaf = torch.tensor([4.0], requires_grad=True)
    leaf.sqrt().backward()
    assert leaf.grad.item() == 0.25


def test_products_of_a_training_are_openblas_s_and_end_with_it():
    draw = torch.Generator().manual_seed(0)
    a, b = torch.randn(300, 64, generator=draw), torch.randn(64, 70, generator=draw)
    own, added = a @ b, torch.randn(300, 70, generator=draw)
    with numerics.products():
        assert numerics.in_force()["products"] == "OpenBLAS"
        numerics.check()
        wanted = torch.from_numpy(a.numpy() @ b.numpy())
        assert torch.equal(a @ b, wanted) and not torch.equal(wanted, own)
        assert torch.equal(torch.mm(a, b, out=torch.empty(0)), wanted)
        assert torch.equal(torch.bmm(a[None], b[None])[0], wanted)
        assert torch.equal(torch.addmm(added, a, b), wanted + added)
        assert torch.equal(added.clone().addmm_(a, b, beta=0, alpha=2), wanted * 2)
        assert torch.allclose(torch.addmm(added, a, b, beta=0.5, alpha=3), 3 * own + added / 2, atol=1e-4)
        assert torch.equal(a[:, :1].expand(300, 64) @ b, a[:, :1].repeat(1, 64) @ b)  # without a copy in memory
        whole = torch.randn(6401, generator=draw)
        moved = whole[1:].view(100, 64)  # four bytes beside where torch's memory begins
        assert torch.equal(moved @ b, moved.clone() @ b) and torch.equal(moved[:1] @ b, moved[:1].clone() @ b)
        leaf = a.clone().requires_grad_()
        (leaf @ b).sum().backward()
        assert torch.allclose(leaf.grad, b.sum(1).expand(300, 64), atol=1e-4)
        for dtype in (torch.float64, torch.bfloat16):
            assert (a.to(dtype) @ b.to(dtype)).dtype == dtype
    assert "products" not in numerics.in_force() and torch.equal(a @ b, own)
