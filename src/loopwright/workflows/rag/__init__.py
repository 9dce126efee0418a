"""Adaptive question answering over a knowledge graph, with bounded retries and honest fallbacks.

The question is read, passages are found and graded, an answer with verified citations is written and graded; where that
fails, the graph asks in other words, writes anew, or looks on the web, a bounded number of times: docs/rag.md has the
picture, the bounds, and where each way ends.

Without a chat model, everything runs on rules: passages are quoted, not paraphrased.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
