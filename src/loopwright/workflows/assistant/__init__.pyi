from .config import AssistantConfig as AssistantConfig
from .events import ChatEvent as ChatEvent
from .graph import build_graph as build_graph, should_retry as should_retry
from .schemas import ChatResult as ChatResult
from .services import Services as Services
from .state import AssistantState as AssistantState
from .workflow import (
    AssistantWorkflow as AssistantWorkflow,
    achat as achat,
    astream_chat as astream_chat,
    chat as chat,
)
