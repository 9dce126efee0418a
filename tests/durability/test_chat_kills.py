"""A chat that dies in the middle goes on where it was: finished nodes do not run again, and counters hold."""

from pathlib import Path
from typing import Any

import pytest
from conferences import empty_conference

from loopwright.checkpoints import aopen_checkpointer, state_types
from loopwright.engine import arun
from loopwright.workflows.assistant import AssistantState, build_graph
from loopwright.workflows.assistant.nodes import NODES

ASKED = {"messages": [("user", "Which sessions are about quantum yodelling?")]}


class Dies(BaseException):
    """Nothing forgives it; `test_kills` kills processes at every moment."""


async def chat(folder: Path, how: str, given: Any, ran: list[str], dies: tuple[str, int] = ("", 0)) -> dict[str, Any]:
    """Ask, or go on where `given` is None; the nodes that begin are added to those that `ran`."""
    services = empty_conference(reflection_enabled=how == "reflect")

    def noted(name: str) -> Any:
        async def work(state: Any) -> Any:
            ran.append(name)
            if (name, ran.count(name)) == dies:
                raise Dies
            return await NODES[name].work(state, services)

        return work

    left_out = ("update_profile", "relax_and_retry" if how == "reflect" else "reflect_and_replan")
    nodes = {name: noted(name) for name in NODES if name not in left_out}
    async with aopen_checkpointer(f"sqlite:{folder}/runs.db", allow=state_types(AssistantState)) as saver:
        graph = build_graph(services=services, nodes=nodes, checkpointer=saver)
        state = (await arun(graph, given, thread_id="t")).state
    return {key: state.get(key) for key in ("retry_count", "status", "stop_reason", "attempts")}


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("node", "visit", "how"),
    [
        ("reflect_and_replan", 2, "reflect"),
        ("plan_queries", 1, "reflect"),
        ("execute_queries", 3, "reflect"),
        ("relax_and_retry", 2, "relax"),
        ("generate_response", 1, "relax"),
        ("evaluate", 1, "reflect"),
    ],
)
async def test_a_chat_that_died_goes_on_where_it_was(node, visit, how, tmp_path, caplog):
    (tmp_path / "whole").mkdir()
    whole, ran = list[str](), list[str]()
    answer = await chat(tmp_path / "whole", how, ASKED, whole)
    with pytest.raises(Dies):
        await chat(tmp_path, how, ASKED, ran, (node, visit))
    assert await chat(tmp_path, how, None, ran) == answer
    assert "unregistered" not in caplog.text
    place = [at for at, name in enumerate(whole) if name == node][visit - 1]
    assert ran == [*whole[:place], node, *whole[place:]]
