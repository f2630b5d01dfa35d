"""A study of more than one code, class of hardware or set of packages says so."""

import pytest

from ict_core.evidence.stored import kinds, mixture_note

PLATFORM = {"cpu": "a cpu", "cpu_flags": ["avx2"], "cores": 2, "gpus": []}
PORTABLE = {"numerics": {"chosen": "portable"}}
NATIVE = {"numerics": {"chosen": "native"}}
TRAINED = (("train", 0), ("train", 1))


def environment(python="3.11.1", packages=(("torch", "2.0"), ("numpy", "1")), **platform):
    return {"python": python, "packages": dict(packages), "platform": PLATFORM | platform}


def study(*environments, loaded=({"a.py": "1"},), jobs=(("train", 0), ("generate", 0)), processes=(PORTABLE,), **job):
    """A study's manifest: of each job its stage, and the number of its environment."""
    return {
        "environments": [*environments] or [environment()],
        "loaded": [*loaded],
        "processes": [*processes],
        "sources": [{"commit": "1234567890abcdef", "dirty": False}],
        "jobs": [
            {"stage": stage, "environment": number, "process": i % len(processes), "tokens": 5} | job
            for i, (stage, number) in enumerate(jobs)
        ],
    }


GPUS = (environment(gpus=["H200"]), environment(gpus=["A100", "A100"]))
CPUS = (environment(), environment(cpu_flags=["avx2", "avx512f"]))


@pytest.mark.parametrize(
    "alike",
    [
        study(),
        study(loaded=({"a.py": "1"}, {"a.py": "1", "b.py": "2"})),  # b was not loaded elsewhere
        study(environment(), environment(cores=64), jobs=TRAINED),
        study(*GPUS),  # one trained, the other generated
        study(*GPUS, jobs=(("generate", 0), ("generate", 1)), tokens=0),  # neither sampled anything
        study(*CPUS, jobs=TRAINED),  # with portable numerics
    ],
)
def test_jobs_of_one_kind_are_not_marked(alike):
    assert mixture_note(alike) == ""


@pytest.mark.parametrize(
    ("mixed", "said"),
    [
        (study(loaded=({"a.py": "1", "b.py": "2"}, {"a.py": "1", "b.py": "3"})), "different code (b.py)"),
        (
            study(loaded=tuple({f"{i}.py": state for i in range(6)} for state in "ab")),
            "different code (0.py, 1.py, 2.py, 3.py, and 2 more)",
        ),
        (
            study(environment(), environment("3.12.0", [("torch", "2.1")])),
            "different packages (Python 3.11.1 and 3.12.0, numpy 1 and none, torch 2.0 and 2.1)",
        ),
        (
            study(*GPUS, jobs=TRAINED),
            "different hardware (train: a CPU with portable numerics, A100 or a CPU with portable numerics, H200)",
        ),
        (study() | {"sources": [{"dirty": True}]}, "a working tree with changes that no commit holds"),
    ],
)
def test_what_differs_is_named(mixed, said):
    assert mixture_note(mixed).endswith(f" {said}.")


def test_cpus_are_told_apart_by_their_instructions_with_native_numerics():
    assert mixture_note(study(*CPUS, jobs=TRAINED, processes=(NATIVE,))).count("a cpu (instructions ") == 2


def test_a_training_that_went_on_on_another_machine_names_both():
    earlier = [{"cpu": "another cpu", "hardware": ["another cpu (instructions 1)"]}]
    mixed = study(processes=(NATIVE,), jobs=(("train", 0),), earlier_machines=earlier)
    told = mixture_note(mixed)
    assert "train: a cpu (instructions" in told and "or another cpu (instructions 1)" in told
    assert "another cpu (instructions 1)" in kinds(mixed)["hardware"]
