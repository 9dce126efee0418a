"""Chat models: one per node from configuration, structured replies, usage, and versioned prompts.

"No model" is the default: without configuration `ModelRegistry.chat` gives None, and a workflow runs on rules and
measurements. LangChain's provider packages are imported only when a configured model is first used.
"""

from __future__ import annotations

from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.models.conversation import Answer, aask, ask, consult
from loopwright.models.fallback import FallbackChatModel, with_fallback
from loopwright.models.guard import allow_model_requests, model_requests_allowed
from loopwright.models.prompts import Prompt, PromptLibrary
from loopwright.models.registry import Assignable, ModelRegistry
from loopwright.models.spec import FallbackReason, ModelSpec, StructuredMethod
from loopwright.models.usage import UsageRecorder, model_name

__all__ = [
    "Answer",
    "Assignable",
    "FallbackChatModel",
    "FallbackReason",
    "ModelRegistry",
    "ModelSpec",
    "PriceTable",
    "Prompt",
    "PromptLibrary",
    "StructuredMethod",
    "Usage",
    "UsageRecorder",
    "aask",
    "allow_model_requests",
    "ask",
    "consult",
    "model_name",
    "model_requests_allowed",
    "with_fallback",
]
