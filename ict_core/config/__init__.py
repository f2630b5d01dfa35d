"""Typed configuration: a study's YAML files in, one frozen :class:`Study` out, or every problem in one error."""
