"""LangChain's agents: a bound for agents that somebody else compiles, and stall rules that read messages.

`LoopMiddleware` needs ``langchain`` (``pip install 'loopwright[chat]'``); the stall rules need nothing more than any
graph with messages. Names are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
