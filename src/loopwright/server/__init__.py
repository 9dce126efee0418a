"""The workflows over HTTP: runs begun, followed and kept, and the page for developers.

Names are imported when they are first used, so that an address can be had before the web framework is loaded.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
