from .conversation import Answer as Answer, aask as aask, ask as ask, consult as consult
from .fallback import FallbackChatModel as FallbackChatModel, with_fallback as with_fallback
from .guard import allow_model_requests as allow_model_requests, model_requests_allowed as model_requests_allowed
from .prompts import Prompt as Prompt, PromptLibrary as PromptLibrary
from .registry import Assignable as Assignable, ModelRegistry as ModelRegistry
from .spec import FallbackReason as FallbackReason, ModelSpec as ModelSpec, StructuredMethod as StructuredMethod
from .usage import PriceTable as PriceTable, Usage as Usage
from .usage import UsageRecorder as UsageRecorder, model_name as model_name
