"""Sampling completions of every benchmark, by vLLM or transformers; nothing else knows vLLM but the rollouts."""
