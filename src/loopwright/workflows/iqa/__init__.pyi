from .config import IQAConfig as IQAConfig
from .graph import build_graph as build_graph
from .nodes import executor_node as executor_node, planner_node as planner_node, summarizer_node as summarizer_node
from .planning import PlannerError as PlannerError
from .routes import decide_next_node as decide_next_node
from .schemas import (
    ExecutorOutput as ExecutorOutput,
    PlannerInput as PlannerInput,
    PlannerOutput as PlannerOutput,
    SummarizerOutput as SummarizerOutput,
)
from .services import Services as Services
from .state import AgenticIQAState as AgenticIQAState
from .workflow import (
    IQAWorkflow as IQAWorkflow,
    arun_pipeline as arun_pipeline,
    run_pipeline as run_pipeline,
    stream_pipeline as stream_pipeline,
    trace_pipeline as trace_pipeline,
    visualize_graph as visualize_graph,
)
