from .engine import (
    Backoff as Backoff,
    BoundedGraph as BoundedGraph,
    Budget as Budget,
    Certificate as Certificate,
    GiveUp as GiveUp,
    Loop as Loop,
    LoopMessages as LoopMessages,
    NodePolicy as NodePolicy,
    Plateau as Plateau,
    PriceTable as PriceTable,
    Retry as Retry,
    RunEvent as RunEvent,
    RunResult as RunResult,
    Stall as Stall,
    StateLimit as StateLimit,
    StopReason as StopReason,
    Usage as Usage,
    add_node as add_node,
    arun as arun,
    astream as astream,
    bounded as bounded,
    check_certificate as check_certificate,
    choose_loops as choose_loops,
    contents as contents,
    normalised as normalised,
    record_usage as record_usage,
    resume as resume,
    run as run,
    stream as stream,
    usual_retries as usual_retries,
    verify as verify,
)
from .config import EngineConfig as EngineConfig
from .checkpoints import open_checkpointer as open_checkpointer
from .errors import LoopwrightError as LoopwrightError

__version__: str
