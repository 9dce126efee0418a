"""Chat models: one per node from configuration, structured replies, usage, and versioned prompts.

"No model" is the default: without configuration `ModelRegistry.chat` gives None, and a workflow runs on rules and
measurements. LangChain's provider packages are imported only when a configured model is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
