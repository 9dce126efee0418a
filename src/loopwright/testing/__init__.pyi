from .bounds import assert_bounded as assert_bounded
from .chat import Call as Call, Reply as Reply, ScriptedChatModel as ScriptedChatModel, always as always
from .clocks import ManualClock as ManualClock
