"""Agent graphs that correct themselves, and always stop.

Declare a loop once; from that come its enforcement, its fallback route, its logs and its label in the diagram, and a
proof, before the first run, that every cycle of the graph is bounded::

    from loopwright import bounded

    app = bounded(app, limit=5)

Names are imported when they are first used, because LangGraph's own import takes more than a second.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0.dev0"
