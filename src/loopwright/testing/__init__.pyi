from .bounds import assert_bounded as assert_bounded
from .chat import Call as Call, Reply as Reply, ScriptedChatModel as ScriptedChatModel, always as always
from .chat_model_contract import ChatModelContract as ChatModelContract
from .checkpointer_contract import CheckpointerContract as CheckpointerContract
from .clocks import ManualClock as ManualClock
from .crashing import CrashInjector as CrashInjector, InjectedCrash as InjectedCrash
from .graders import AlwaysNo as AlwaysNo
from .processes import ProcessResult as ProcessResult, run_in_process as run_in_process
from .stopping import Stopped as Stopped, aassert_stops as aassert_stops, assert_stops as assert_stops
