"""Verdicts on answers, by their type; the only package that knows math-verify.

The rule of a type stands in its module; what the benchmarks' authors and other graders do, in docs/grading.md.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
