"""Nodes for a spent bound: they answer from what is there, and say that a bound was reached.

Each function makes a node, for ``bounded(app, limit=5, fallback=say_what_is_missing())``, or for ``add_node`` and a
`Loop` that names the node in ``exhausted``. The answer is appended to the state's messages as an ``AIMessage``, or
written as text to the key that ``to`` names.

The nodes read ``stop_reason``, which is no key of the graph's own state: they declare an input schema that has it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
