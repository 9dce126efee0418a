from .nodes import (
    answer_without_tools as answer_without_tools,
    best_effort as best_effort,
    bound_reached as bound_reached,
    close_tool_calls as close_tool_calls,
    say_what_is_missing as say_what_is_missing,
)
