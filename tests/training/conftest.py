"""TRL without vLLM in pytest's own processes, as in every training without it: TRL imports all of an installed vLLM."""

from ict_core.training import leave_vllm_out

leave_vllm_out()
