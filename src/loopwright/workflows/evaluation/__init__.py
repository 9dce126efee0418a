"""Questions with known answers, for every workflow: figures with intervals, and what each loop brings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
