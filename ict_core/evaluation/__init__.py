"""Sampling completions of every benchmark, by vLLM or transformers; nothing else knows vLLM but the rollouts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
