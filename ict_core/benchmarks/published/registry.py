"""The readers by the name that a YAML file gives under `reader`."""

from ict_core.benchmarks.published import aime_23, aime_24, aime_25, gpqa, gsm8k, math_500, math_train, mmlu_stem
from ict_core.benchmarks.published.item import Read

READERS: dict[str, Read] = {
    "gsm8k": gsm8k.read,
    "math-500": math_500.read,
    "math-train": math_train.read,
    "mmlu-stem": mmlu_stem.read,
    "gpqa": gpqa.read,
    "aime-23": aime_23.read,
    "aime-24": aime_24.read,
    "aime-25": aime_25.read,
}
