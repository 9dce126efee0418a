"""The folder of run files: names, lookups, damaged and foreign files, other processes, many threads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from shapes import State, graph

from loopwright.checkpoints import JsonFileSaver, archive, json_files
from loopwright.errors import CheckpointError


def config_of(thread_id: Any, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **more}}


def put(saver: BaseCheckpointSaver[str], thread_id: Any, step: int, value: Any, parent: Any = None) -> Any:
    """Save one checkpoint whose only channel, x, changed to `value`."""
    version = f"{step:032}.0"
    checkpoint = {
        **empty_checkpoint(),
        "id": str(uuid6(clock_seq=step)),
        "channel_values": {"x": value},
        "channel_versions": {"x": version},
    }
    return saver.put(parent or config_of(thread_id), checkpoint, {"step": step, "source": "loop"}, {"x": version})


def latest(saver: BaseCheckpointSaver[str], thread_id: Any) -> Any:
    found = saver.get_tuple(config_of(thread_id))
    return found and found.checkpoint["channel_values"]["x"]


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return path


@pytest.mark.parametrize(
    "thread", ["a/b", "a?b", "a_b", "../a", "", "x" * 500, "Größe 7", ".", "a~b", "\ud800", "a\nb"]
)
def test_any_thread_id_is_found_again(thread: str, tmp_path: Path) -> None:
    others = ["a/b", "a?b", "a_b"]
    saver = JsonFileSaver(tmp_path)
    for other in others:
        put(saver, other, 0, other)
    put(saver, thread, 1, "mine")
    again = JsonFileSaver(tmp_path)
    assert latest(again, thread) == "mine"
    assert [latest(again, other) for other in others if other != thread] == [o for o in others if o != thread]
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path}
    assert {item.config["configurable"]["thread_id"] for item in again.list(None)} == {thread, *others}


def test_a_person_can_read_what_changed_at_each_step(tmp_path: Path) -> None:
    writing = {"plan": {"count": 1, "most": {"why": "ünclear"}}, "left": {"text": "L"}, "right": {"count": 2}}
    nodes = {name: lambda _state, update=update: update for name, update in writing.items()}
    app = graph("START-plan plan-left plan-right", State, **nodes).compile(checkpointer=JsonFileSaver(tmp_path))
    app.invoke({"count": 0}, config_of("s1"), durability="sync")
    written = only_file(tmp_path).read_text()
    content = json.loads(written)
    assert content["thread_id"] == "s1"
    steps = [saved for saved in content["steps"] if "checkpoint" in saved]
    assert [step["metadata"]["step"] for step in steps] == [-1, 0, 1, 2]
    changed = [{k: v for k, v in step["values"].items() if not k.startswith(("branch", "__"))} for step in steps]
    assert changed == [{}, {"count": 0}, {"count": 1, "most": {"why": "ünclear"}}, {"text": "L", "count": 2}]
    assert '"most": {"why": "ünclear"}' in written


class Xor:
    """A cipher that hides text well enough for a test."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "xor", bytes(byte ^ 0x55 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return self.encrypt(ciphertext)[1]


def test_nothing_readable_of_an_encrypted_state(tmp_path: Path) -> None:
    saver = JsonFileSaver(tmp_path, serde=EncryptedSerializer(Xor()))
    given_back = put(saver, "s1", 0, {"password": "hunter2"})
    saver.put_writes(given_back, [("x", "hunter2"), ("y", None), ("z", b"hunter2")], "task")
    assert not re.search('hunter2|password|readable|"loop"|source', only_file(tmp_path).read_text())
    found = JsonFileSaver(tmp_path, serde=EncryptedSerializer(Xor())).get_tuple(config_of("s1"))
    assert found is not None and found.checkpoint["channel_values"] == {"x": {"password": "hunter2"}}
    assert found.pending_writes == [("task", "x", "hunter2"), ("task", "y", None), ("task", "z", b"hunter2")]


steps = st.lists(
    st.tuples(st.sampled_from(["put", "writes", "again", "fork"]), st.integers(0, 5), st.integers(0, 3)), max_size=12
)


@settings(max_examples=examples(40), deadline=None)
@given(steps)
def test_any_sequence_of_calls_gives_what_memory_gives(tmp_path_factory: pytest.TempPathFactory, calls: Any) -> None:
    """The same calls on LangGraph's saver and on ours."""
    savers = [InMemorySaver(), JsonFileSaver(tmp_path_factory.mktemp("runs"))]
    ids = [str(uuid6(clock_seq=number)) for number in range(20)]
    made = 0
    for kind, pick, number in calls:
        target = ids[pick % made] if made else ids[0]
        if kind == "writes":
            for saver in savers:
                writes = [("x", number), ("y", {number}), ("__error__", str(number))]
                saver.put_writes(config_of("s", checkpoint_id=target), writes, f"task {number}", f"path {3 - number}")
            continue
        new = target if kind == "again" and made else ids[made]
        parent = {"checkpoint_id": target} if kind == "fork" and made else {}
        versions = {"x": f"{number:032}.0", "y": f"{pick:032}.0"}
        for saver in savers:
            checkpoint = {**empty_checkpoint(), "id": new, "ts": "t", "channel_versions": versions}
            checkpoint["channel_values"] = {"x": (number, pick)} if pick else {"y": {"$msgpack": number}}
            saver.put(config_of("s", **parent), checkpoint, {"step": made}, versions)
        made += new == ids[made]
    expected, found = ([*saver.list(config_of("s"))] for saver in savers)
    assert found == expected
    assert [*savers[1].list(None, limit=3)] == expected[:3]


async def test_asynchronous_calls_find_each_graph_and_read_the_file_once(tmp_path: Path, monkeypatch: Any) -> None:
    saver, read = JsonFileSaver(tmp_path), Mock(wraps=json_files._read)
    monkeypatch.setattr(archive, "PAGE", 2)
    last = [config_of("t", checkpoint_ns=place) for place in ("", "inner|")]
    for step in range(6):
        last.append(put(saver, "t", step, "x", last[-2]))
    assert len([found async for found in saver.alist({"configurable": {"thread_id": "t"}})]) == 6
    monkeypatch.setattr(json_files, "_read", read)
    assert await saver.aget_delta_channel_history(config=last[-1], channels=["y"]) == {"y": {"writes": []}}
    assert read.call_count == 1


def rewritten(change: Any) -> Any:
    return lambda written: json.dumps(change(json.loads(written))).encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *((lambda written, share=share: written[: int(share * len(written))], "") for share in (0.0, 0.02, 0.5, 0.99)),
        (rewritten(lambda content: {"name": "somebody's"}), "it does not say 'loopwright-checkpoints/1'"),
        (rewritten(lambda content: [1, 2]), "it does not say 'loopwright-checkpoints/1'"),
        (rewritten(lambda content: {**content, "format": "loopwright-checkpoints/2"}), "it does not say"),
        (rewritten(lambda content: {**content, "steps": [{"id": 1}]}), "KeyError"),
        (rewritten(lambda content: {**content, "steps": None}), "TypeError"),
        (rewritten(lambda content: {k: v for k, v in content.items() if k != "thread_id"}), "KeyError"),
    ],
)
def test_a_torn_or_foreign_file_is_named_and_never_touched(change: Any, reason: str, tmp_path: Path) -> None:
    put(JsonFileSaver(tmp_path), "s1", 0, "value")
    path = only_file(tmp_path)
    path.write_bytes(damaged := change(path.read_bytes()))
    saver = JsonFileSaver(tmp_path)
    for call in (
        lambda: latest(saver, "s1"),
        lambda: put(saver, "s1", 1, "new"),
        lambda: saver.put_writes(config_of("s1", checkpoint_id="c"), [("x", 1)], "task"),
        lambda: saver.delete_thread("s1"),
        lambda: [*saver.list(None)],
    ):
        told = f"{re.escape(str(path))} cannot be read or is damaged .*{reason}.* move it to another folder"
        with pytest.raises(CheckpointError, match=told):
            call()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == damaged
    assert put(saver, "s2", 0, "another run is not affected")


def test_a_write_that_fails_says_so_and_can_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    saver = JsonFileSaver(folder)
    first = put(saver, "s1", 0, "kept")
    folder.rename(tmp_path / "away")
    with pytest.raises(CheckpointError, match=r"'s1' cannot be written to .*runs.*resumed from its last saved step"):
        put(saver, "s1", 1, "lost?", first)
    (tmp_path / "away").rename(folder)
    assert latest(JsonFileSaver(folder), "s1") == "kept"
    put(saver, "s1", 2, "after")
    assert [item.metadata["step"] for item in JsonFileSaver(folder).list(config_of("s1"))] == [2, 0]
    assert not [*folder.glob(".*.tmp")]


def test_leftovers_of_killed_processes_are_written_over(tmp_path: Path) -> None:
    put(JsonFileSaver(tmp_path), "s1", 0, "value")
    path = only_file(tmp_path)
    path.with_name(f".{path.name}.tmp").write_text("{" * 10_000)
    saver = JsonFileSaver(tmp_path)
    assert latest(saver, "s1") == "value"
    put(saver, "s1", 1, "next")
    assert [*tmp_path.iterdir()] == [path]
    assert latest(JsonFileSaver(tmp_path), "s1") == "next"
    saver.delete_thread("s1")
    assert not [*tmp_path.iterdir()]
