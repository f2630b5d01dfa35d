"""Typed configuration: a study's YAML files in, one frozen :class:`Study` out, or every problem in one error."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
