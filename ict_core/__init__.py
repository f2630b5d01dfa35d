"""A reproducible benchmark and ablation harness for token selection in RLVR."""

import os

# numpy's own exp, log and more for AVX-512 round otherwise than those for other CPUs: without them a table is the same bytes on
# either. numpy reads this when it is first imported, and passes over what a CPU lacks.
os.environ.setdefault(
    "NPY_DISABLE_CPU_FEATURES", "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
)
