"""A study of more than one code, class of hardware or set of packages says so."""

from ict_core.evidence import mixture_note
from ict_core.evidence._stored import kinds, mixture

PLATFORM = {"cpu": "a cpu", "cpu_flags": ["avx2"], "cores": 2, "gpus": []}
PORTABLE = {"numerics": {"chosen": "portable"}}
NATIVE = {"numerics": {"chosen": "native"}}


def environment(python="3.11.1", torch="2.0", **platform):
    return {"python": python, "packages": {"torch": torch, "numpy": "1"}, "platform": PLATFORM | platform}


def study(
    environments=None, loaded=({"a.py": "1"},), jobs=(("train", 0), ("generate", 0)), dirty=False, processes=(PORTABLE,)
):
    return {
        "environments": list(environments or [environment()]),
        "loaded": list(loaded),
        "processes": list(processes),
        "sources": [{"commit": "1234567890abcdef", "dirty": dirty}],
        "jobs": [
            {"stage": stage, "environment": number, "process": i % len(processes), "tokens": 5}
            for i, (stage, number) in enumerate(jobs)
        ],
    }


def test_jobs_of_one_kind_are_not_marked():
    assert mixture(study()) == [] and mixture_note(study()) == ""
    assert mixture(study(loaded=({"a.py": "1"}, {"a.py": "1", "b.py": "2"}))) == []  # b was not loaded elsewhere
    cores = (environment(), environment(cores=64, gpus=[]))
    assert mixture(study(cores, jobs=(("train", 0), ("train", 1)))) == []


def test_code_that_differs_is_named_by_file():
    mixed = study(loaded=({"a.py": "1", "b.py": "2"}, {"a.py": "1", "b.py": "3"}))
    assert mixture_note(mixed) == "Mixed study: its jobs come from different code (b.py)."
    many = study(loaded=tuple({f"{i}.py": state for i in range(6)} for state in "ab"))
    assert mixture(many) == ["different code (0.py, 1.py, 2.py, 3.py, and 2 more)"]


def test_packages_that_differ_are_named_with_their_versions():
    assert mixture(study((environment(), environment(torch="2.1")))) == ["different packages (torch 2.0 and 2.1)"]
    assert mixture(study((environment(), environment("3.12.0")))) == ["different packages (Python 3.11.1 and 3.12.0)"]
    without = environment()
    del without["packages"]["numpy"]
    assert mixture(study((environment(), without))) == ["different packages (numpy 1 and none)"]


def test_hardware_is_compared_within_a_stage():
    machines = (environment(gpus=["H200"]), environment(gpus=["A100", "A100"]))
    assert mixture(study(machines)) == []  # one trained, the other generated
    mixed = study(machines, jobs=(("train", 0), ("train", 1)))
    assert mixture(mixed) == [
        "different hardware (train: a CPU with portable numerics, A100 or a CPU with portable numerics, H200)"
    ]
    reused = study(machines, jobs=(("generate", 0), ("generate", 1)))
    assert mixture(reused) != []
    reused["jobs"][1]["tokens"] = 0  # it sampled nothing
    assert mixture(reused) == []


def test_cpus_are_one_with_portable_numerics_and_told_apart_by_their_instructions_else():
    machines = (environment(), environment(cpu_flags=["avx2", "avx512f"]))
    jobs = (("train", 0), ("train", 1))
    assert mixture(study(machines, jobs=jobs)) == []
    native = mixture(study(machines, jobs=jobs, processes=(NATIVE,)))
    assert len(native) == 1 and native[0].count("a cpu (instructions ") == 2
    both = mixture(study(machines, jobs=(("train", 0), ("train", 0)), processes=(PORTABLE, NATIVE)))
    assert both[0].startswith("different hardware (train: a CPU with portable numerics or a cpu (instructions ")
    old = study((environment(), environment(cpu="another")), jobs=jobs, processes=({},))
    for machine in old["environments"]:
        del machine["platform"]["cpu_flags"]  # as it was before these were recorded
    assert mixture(old) == ["different hardware (train: a cpu or another)"]


def test_an_uncommitted_change_is_told():
    assert mixture(study(dirty=True)) == ["a working tree with changes that no commit holds"]


def test_a_training_that_went_on_on_another_machine_names_both():
    (mixed := study(processes=(NATIVE,)))["jobs"][0]["earlier_machines"] = [
        {"cpu": "another cpu", "hardware": ["another cpu (instructions 1)"]}
    ]
    (told,) = mixture(mixed)
    assert "train: a cpu (instructions" in told and "or another cpu (instructions 1)" in told
    assert "another cpu (instructions 1)" in kinds(mixed)["hardware"]
