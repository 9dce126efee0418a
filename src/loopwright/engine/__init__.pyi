from .books import StopReason as StopReason
from .bounded_graph import BoundedGraph as BoundedGraph
from .bounding import bounded as bounded, choose_loops as choose_loops
from .budgets import Budget as Budget
from .certificate import Certificate as Certificate
from .config import EngineConfig as EngineConfig
from .events import RunEvent as RunEvent
from .guarding import add_node as add_node
from .loops import Backoff as Backoff, Loop as Loop, LoopMessages as LoopMessages, StateLimit as StateLimit
from .meter import record_usage as record_usage
from .policies import GiveUp as GiveUp, NodePolicy as NodePolicy, Retry as Retry, usual_retries as usual_retries
from .progress import Plateau as Plateau, Stall as Stall, contents as contents, normalised as normalised
from .proof import verify as verify
from .runner import (
    RunResult as RunResult,
    arun as arun,
    astream as astream,
    resume as resume,
    run as run,
    stream as stream,
)
from .usage import PriceTable as PriceTable, Usage as Usage
