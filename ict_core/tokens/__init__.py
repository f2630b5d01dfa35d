"""Statistics of every sampled token: entropies, divergences from its group, and the kernels that compute them."""
