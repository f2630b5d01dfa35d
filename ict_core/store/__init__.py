"""What is on the disk: frames and schemas, manifests, hashes, where a study's files lie, which code a job runs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
