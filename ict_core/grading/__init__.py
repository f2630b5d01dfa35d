"""Verdicts on answers, by their type; the only package that knows math-verify."""
