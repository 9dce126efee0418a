from .ledger import StopReason as StopReason
from .graph import BoundedGraph as BoundedGraph
from .bounds import bounded as bounded, choose_loops as choose_loops
from .budget.budget import Budget as Budget
from .proof.certificate import Certificate as Certificate
from .proof.checker import check_certificate as check_certificate
from .events.schema import RunEvent as RunEvent
from .nodes.runner import add_node as add_node
from .loop import Backoff as Backoff, Loop as Loop, LoopMessages as LoopMessages, StateLimit as StateLimit
from .budget.meter import record_usage as record_usage
from .nodes.policy import GiveUp as GiveUp, NodePolicy as NodePolicy, Retry as Retry, usual_retries as usual_retries
from .budget.patience import Plateau as Plateau, Stall as Stall, contents as contents, normalised as normalised
from .proof.verify import verify as verify
from .events.stream import (
    RunResult as RunResult,
    arun as arun,
    astream as astream,
    resume as resume,
    run as run,
    stream as stream,
)
from .budget.budget import PriceTable as PriceTable, Usage as Usage
