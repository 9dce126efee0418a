from .middleware import LoopMiddleware as LoopMiddleware
from .stalls import (
    alternation as alternation,
    repeated_error as repeated_error,
    same_call_same_result as same_call_same_result,
)
