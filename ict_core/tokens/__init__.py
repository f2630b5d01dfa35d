"""What is known of every sampled token: entropies, divergences from its group, and the kernels that compute them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
