"""TRL without vLLM in pytest's own processes, as in every training without it: TRL imports all of an installed vLLM."""

from trl import import_utils

import_utils.is_vllm_available = lambda *_, **__: False
