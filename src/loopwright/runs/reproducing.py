"""A run written out as a test for pytest: the same input, the way that it took, and how it ended."""

import json
from collections.abc import Sequence
from importlib import resources

from loopwright.engine.events.schema import ModelCalled, RunEvent, Told
from loopwright.errors import InputError
from loopwright.runs.schemas import RunRecord
from loopwright.workflows.api import Workflow, upload_fields
from loopwright.workflows.user_graph import UserGraph

_TEST = resources.files("loopwright.runs").joinpath("reproduced.txt").read_text(encoding="utf-8")
_FINISHED = """\
    result, outcome = asyncio.run(followed())
    assert sorted(result.path) == sorted({path!r})
    assert outcome.status == {status!r}
    assert outcome.answer == {answer!r}"""
_FAILED = """\
    with pytest.raises(Exception) as failed:
        asyncio.run(followed())
    assert type(cause_of(failed.value)).__name__ == {kind!r}"""


def test_of(record: RunRecord, hosted: Workflow, events: Sequence[RunEvent]) -> str:
    """A run, with its workflow and its events, as the text of a test file.

    Raises:
        InputError: If it did not come to its end, began at another one's checkpoint, took a file, asked a person, or
            nothing says where its graph is.
    """
    if record.status not in ("finished", "failed"):
        raise InputError(f"run {record.id!r} is {record.status}: only one that finished or failed makes a test")
    if record.parent is not None:
        raise InputError(f"run {record.id!r} began at a checkpoint of {record.parent.run_id!r}: take that one")
    if any(record.input.get(field) for field in upload_fields(hosted.Input)):
        raise InputError(f"run {record.id!r} took an uploaded file, which a test of its own would not have")
    if any(isinstance(event, Told) and "interrupt" in event.data for event in events):
        raise InputError(f"run {record.id!r} asked a person, whose answers a test of its own would not have")
    imports, opened = "from loopwright.workflows import registry", f"registry.load({hosted.name!r}).open()"
    if isinstance(hosted, UserGraph):
        if not hosted.place:
            raise InputError(f"nothing says where the graph of {hosted.name!r} is: serve it as FILE.py:GRAPH")
        imports = (
            "from loopwright.check.loading import load_graphs\nfrom loopwright.workflows.user_graph import UserGraph"
        )
        opened = f"UserGraph({hosted.name!r}, *load_graphs({hosted.place!r}).values())"
    replies = [[event.node, event.reply] for event in events if isinstance(event, ModelCalled)]
    told = f"\n# What models replied; loopwright.testing.ScriptedChatModel says it again.\nREPLIES = {replies!r}\n"
    outcome = record.outcome
    asserted = (
        _FINISHED.format(path=[*record.path], status=outcome.status, answer=outcome.answer)
        if record.status == "finished" and outcome
        else _FAILED.format(kind=record.error_type)
    )
    return _TEST.format(
        id=record.id, workflow=record.workflow, status=record.status, day=record.started_at.date(), imports=imports,
        given=json.dumps(record.input), replies=told if replies else "", opened=opened, asserted=asserted,
        name="".join(sign if sign.isalnum() else "_" for sign in f"{record.workflow}_{record.id[:8]}"),
    )  # fmt: skip
