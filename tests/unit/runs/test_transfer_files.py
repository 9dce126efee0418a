"""Kept runs as files, and what comes back from them."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from chances import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_records import citation, counterfactual, keep, path_events, run_record, small_graph

from loopwright.errors import InputError
from loopwright.runs import transfer
from loopwright.runs.schemas import RunFilter
from loopwright.runs.store import KeptEvent, open_runs
from loopwright.runs.transfer import FORMAT, export_run, import_run, read_run

CLIENT = (
    KeptEvent(1, "acknowledgment", '{"event": "acknowledgment",  "message": "\u2028 <b>ö</b>"}'),
    KeptEvent(2, "done", '{"event":"done","number":1.50}'),
)


@pytest.fixture
def store(tmp_path):
    opened = open_runs(f"sqlite:{tmp_path / 'runs.db'}")
    yield opened
    opened.close()


@pytest.fixture
def other(tmp_path):
    opened = open_runs(f"sqlite:{tmp_path / 'other.db'}")
    yield opened
    opened.close()


def exported(store, run_id="run-1", **changes):
    keep(store, run_record(run_id, **changes), path_events(["write", "check"]), CLIENT)
    return export_run(store, run_id)


def changed(data, change):
    """The file with something changed in it."""
    document = json.loads(gzip.decompress(data))
    change(document)
    return gzip.compress(json.dumps(document).encode())


def set_event(seq, text):
    def change(document):
        document["events"][seq - 1]["data"] = text

    return change


def test_a_run_comes_back_as_it_was(store, other):
    data = exported(
        store, title="<script>alert(1)</script> &amp; Größe", quality=0.5, answer="**Blue** <img src=x>",
        citations=(citation("1", url="https://example.org/a", quote="x"),), parent=counterfactual("earlier"),
    )  # fmt: skip
    kept = import_run(other, data)
    assert kept == store.get("run-1").model_copy(update={"source": "imported"})
    assert other.get("run-1") == kept
    assert other.graph("run-1") == small_graph()
    for channel in ("run", "client"):
        assert other.events("run-1", channel) == store.events("run-1", channel)
    assert other.events("run-1", "client") == list(CLIENT)


def test_a_file_that_is_imported_again_changes_nothing(store, other):
    data = exported(store)
    first = import_run(other, data)
    assert import_run(other, data) == first
    assert import_run(store, data) == store.get("run-1")
    assert store.get("run-1").source == "here"


def test_an_id_that_another_run_has(store, other):
    data = exported(store)
    keep(other, run_record("run-1", title="mine"), path_events(["write"]))
    kept = import_run(other, data)
    assert kept.id.startswith("run-1-") and kept.source == "imported"
    assert other.get("run-1").title == "mine"
    assert other.events(kept.id) == store.events("run-1")
    assert import_run(other, data) == kept


def test_a_run_that_goes_on_is_not_exported(store):
    with pytest.raises(InputError, match="goes on"):
        exported(store, status="running")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.update(format="loopwright-run/2"), "'loopwright-run/2'.*reads 'loopwright-run/1'"),
        (lambda d: d["record"].update(id="../../etc"), "names a run '../../etc'"),
        (lambda d: d["record"]["parent"].update(run_id="<b>"), "names a run '<b>'"),
        (lambda d: d["record"].update(status="running"), "had not ended"),
        (lambda d: d["record"].update(extra=1), "record.extra"),
        (lambda d: d["graph"].pop("nodes"), "graph.nodes"),
        (lambda d: d["events"].pop(1), "lacks event 2"),
        (lambda d: d["events"].reverse(), "lacks event 1"),
        (lambda d: d["client"][0].update(seq=0), "client.0.seq"),
        (lambda d: d["client"][0].update(name="done\ndata: x"), "client.0.name"),
        (lambda d: d["client"][0].update(data='{"a":\n1}'), "one line"),
        (lambda d: d["client"][0].update(data='{"a": NaN}'), "client.0.data"),
        (lambda d: d["client"][0].update(data="[" * 5_000 + "]" * 5_000), "client.0.data"),
        (set_event(1, '{"type": "odd"}'), "tag"),
        (set_event(1, '{"type": "run_failed", "kind": "x", "message": "x"}'), "named 'run_started'"),
        (lambda d: d["record"]["outcome"]["citations"][0].update(url="javascript:alert(1)"), "only http"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_is_kept(store, other, change, told):
    data = exported(store, citations=(citation("1", url="https://example.org"),), parent=counterfactual("earlier"))
    with pytest.raises(InputError, match=told):
        import_run(other, changed(data, change))
    assert other.list(RunFilter()).total == 0


def test_a_bomb_is_not_unpacked(other):
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(2**20)
    bomb = b"".join([*(packer.compress(zeros) for _ in range(transfer.MAX_UNPACKED // 2**20 + 1)), packer.flush()])
    assert len(bomb) < 2**18
    with pytest.raises(InputError, match="unpacks to more"):
        import_run(other, bomb)


def test_what_is_no_whole_file_of_a_run(store, other):
    data = exported(store)
    for broken, told in (
        (b"", "cut off"),
        (b'{"format": "loopwright-run/1"}', "not gzipped"),
        (data[:-9], "cut off|not gzipped"),
        (data + b"x", "follows"),
        (data + data, "follows"),
        (gzip.compress(b"[]"), "no run"),
        (gzip.compress(b"\xff\xfe{}"), "no run"),
        (bytes(transfer.MAX_FILE + 1), "at most"),
    ):
        with pytest.raises(InputError, match=told):
            import_run(other, broken)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150))
@given(st.data())
def test_a_damaged_file_is_refused_in_words_or_whole(store, data):
    whole = exported(store) if store.get("run-1") is None else export_run(store, "run-1")
    text = bytearray(gzip.decompress(whole))
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] = data.draw(st.integers(0, 255))
    try:
        assert read_run(gzip.compress(bytes(text))).format == FORMAT
    except InputError as error:
        assert str(error)
