"""Typed configuration: a study's YAML files in, one frozen :class:`Study` out, or every problem in one error.

Each section of the configuration has a file of its own here; `load.py` puts them together.
"""

from ict_core.config.benchmarks import Benchmark, GeneratedBenchmark, PublishedBenchmark
from ict_core.config.load import load_study
from ict_core.config.methods import Ablation, Grpo, HighEntropy, Method, Normaliser, Stapo, TopScore, method_schema
from ict_core.config.models import Architecture, Model, Pretraining
from ict_core.config.published import PublishedSet, TrainingSet
from ict_core.config.study import BASE_VARIANT, Cell, Data, Evaluation, Grading, Stage, Study
from ict_core.config.training import Training

__all__ = [
    "BASE_VARIANT",
    "Ablation",
    "Architecture",
    "Benchmark",
    "Cell",
    "Data",
    "Evaluation",
    "GeneratedBenchmark",
    "Grading",
    "Grpo",
    "HighEntropy",
    "Method",
    "Model",
    "Normaliser",
    "Pretraining",
    "PublishedBenchmark",
    "PublishedSet",
    "Stage",
    "Stapo",
    "Study",
    "TopScore",
    "Training",
    "TrainingSet",
    "load_study",
    "method_schema",
]
