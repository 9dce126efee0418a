from .config import RAGConfig as RAGConfig
from .constants import Defaults as Defaults, LogMessages as LogMessages, RouteDecision as RouteDecision
from .graph import build_graph as build_graph
from .nodes import query_transformation as query_transformation
from .routes import (
    decide_to_generate as decide_to_generate,
    grade_generation_vs_context_and_question as grade_generation_vs_context_and_question,
)
from .schemas import Answer as Answer, Citation as Citation
from .services import Services as Services
from .state import GraphState as GraphState
from .workflow import (
    RagResult as RagResult,
    RagWorkflow as RagWorkflow,
    RetryMetrics as RetryMetrics,
    aask as aask,
    ask as ask,
    astream_ask as astream_ask,
)
