"""Verdicts on answers, by their type; the only package that knows math-verify.

The rule of a type stands in its module; what the benchmarks' authors and other graders do, in docs/grading.md.
"""
