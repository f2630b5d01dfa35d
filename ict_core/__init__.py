"""A reproducible benchmark and ablation harness for token selection in RLVR."""

import os

# numpy's functions for AVX-512, exp and log among them, round otherwise than those for other CPUs: without them tables
# are the same bytes on either. numpy reads this when it is first imported, and passes over what a CPU lacks.
os.environ.setdefault(
    "NPY_DISABLE_CPU_FEATURES", "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
)
