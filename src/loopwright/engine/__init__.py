"""Loops that are declared once, bounded at run time, and proven bounded before.

Names are imported when they are first used: ``loopwright check`` reads source files with parts of the engine that need
no LangGraph, whose import takes more than a second.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
