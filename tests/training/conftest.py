"""TRL without vLLM in pytest's own processes, as in every training without it."""

from short_runs import leave_vllm_out

leave_vllm_out()
