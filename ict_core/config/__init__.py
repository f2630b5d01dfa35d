"""Typed configuration: a study's YAML files in, one frozen :class:`Study` out, or every problem in one error.

Each section of the configuration has a file of its own here; `load.py` puts them together.
"""

from ict_core.config.load import load_study
from ict_core.config.methods import Grpo, Method, Normaliser, method_schema
from ict_core.config.models import Architecture
from ict_core.config.problem_sets import PublishedBenchmark, PublishedSet, TrainingSet
from ict_core.config.study import BASE_VARIANT, Cell, Study
from ict_core.config.training import Training

__all__ = [
    "BASE_VARIANT",
    "Architecture",
    "Cell",
    "Grpo",
    "Method",
    "Normaliser",
    "PublishedBenchmark",
    "PublishedSet",
    "Study",
    "Training",
    "TrainingSet",
    "load_study",
    "method_schema",
]
