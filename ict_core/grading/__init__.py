"""Verdicts on answers, by answer type; the only package that uses math-verify.

Each type's rule is in its module. What the benchmarks' authors and other graders do is in docs/grading.md.
"""
