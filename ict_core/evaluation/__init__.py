"""Sampling completions of every benchmark, with vLLM or transformers; elsewhere only rollouts use vLLM."""
