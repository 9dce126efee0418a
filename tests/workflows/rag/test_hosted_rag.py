"""Question answering under a host: quotes, honest ends, what is told meanwhile, and runs that are apart."""

import json

import pytest
from hosted_runs import drive
from knowledge import rag
from langgraph.checkpoint.memory import InMemorySaver
from search_server import searching

from loopwright.errors import InputError
from loopwright.models import ModelRegistry
from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores import open_store
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.api import Workflow
from loopwright.workflows.rag import RAGConfig, Services
from loopwright.workflows.rag.http import _ingested
from loopwright.workflows.rag.sources.sample import sample_folder, sample_store
from loopwright.workflows.rag.workflow import RagWorkflow

OPENED = "When was the Stillwater Bridge opened?"


@pytest.fixture(scope="module")
def store():
    with sample_store() as opened:
        yield opened


@pytest.fixture
def hosted(store):
    return RagWorkflow(Services.of(RAGConfig(), store))


async def test_nothing_that_people_see_says_where_the_files_lie(hosted):
    done = await drive(hosted, {"question": OPENED}, saver=InMemorySaver())
    seen = json.dumps([done.outcome.model_dump(mode="json"), done.saved(), [told.data for told in done.told]])
    assert "bridge.md::0" in seen and str(sample_folder().parent) not in seen
    assert json.loads(json.dumps(done.saved())) == done.saved()


def test_bytes_in_a_state_are_told_as_text_or_in_base64(hosted):
    assert Workflow.outcome(hosted, {"query": b'{"a": 1}'}).details == {"query": '{"a": 1}'}
    assert Workflow.outcome(hosted, {"query": b"\xff"}).details == {"query": "_w=="}


async def test_hops_are_told_as_progress(store):
    leads = ScriptedChatModel(
        {"complete": False, "query": "Odile Varga born"}, {"complete": True, "query": ""}, repeat_last=True
    )
    services = Services(RAGConfig(), ModelRegistry({"next_hop": leads}), given_store=store)
    done = await drive(RagWorkflow(services), {"question": "Where was the designer of the Stillwater Bridge born?"})
    assert "Tarnholt" in done.outcome.answer
    assert {citation.details["document"] for citation in done.outcome.citations} >= {"odile-varga.md", "bridge.md"}
    hops = [told.message for told in done.told if told.node == "next_hop"]
    assert hops[0] == "That leads on to: Odile Varga born"


async def test_an_unsupported_answer_is_thought_over(store):
    writer = ScriptedChatModel("The mayor painted it green.", "It was opened in 1912 [1].", repeat_last=True)
    services = Services(RAGConfig(), ModelRegistry({"answer_generation": writer}), given_store=store)
    done = await drive(RagWorkflow(services), {"question": OPENED})
    (thought,) = done.thoughts()
    assert (thought.node, thought.data["attempt"], thought.data["limit"]) == ("answer_generation", 1, 2)
    assert thought.data["reason"] and done.outcome.details["model_calls"] == 2


async def test_a_web_source_is_cited_with_its_address(store):
    page = {"title": "Bakeries of Kestrel Bay", "url": "https://bakers.example/list", "content": "It has 14 bakeries."}
    with searching() as server:
        server.results = [page]
        hosted = RagWorkflow(rag(store=store, web=server.url))
        done = await drive(hosted, {"question": "How many bakeries has Kestrel Bay?"})
    assert "14" in done.outcome.answer
    assert done.outcome.citations[0].url == "https://bakers.example/list"
    assert any(told.message == "Searching the web…" for told in done.told)


async def test_a_table_that_is_sent_again_replaces_the_old_one_and_only_the_documents_asked_for_count(tmp_path):
    with open_store("memory") as other:
        hosted = RagWorkflow(Services.of(RAGConfig(), other))
        for rows in ("id,name\n1,Oslo\n2,Bergen\n", "id,name\n1,Oslo\n"):
            (tmp_path / "places.csv").write_text(rows)
            _ingested(hosted.services, {tmp_path / "places.csv": "places.csv"}, ())
        assert [document.title for document in other.documents()] == ["Oslo"]
        run = hosted.run({"question": OPENED, "where": {"tags": ["a"], "after": "2024-02-01"}}, {}, "r")
        assert run.graph_input["where"].tags == ("a",)
        assert run.graph_input["where"].after.isoformat() == "2024-02-01T00:00:00+00:00"
        assert run.plain("where", Filter(tags=("a",)))["tags"] == ["a"]
        assert hosted.run({"question": OPENED, "where": {}}, {}, "r").graph_input["where"] is None
        done = await drive(hosted, {"question": OPENED, "where": {"tags": ["none"]}})
        assert done.outcome.status == "abstained"


async def test_the_sample_answers_until_documents_are_read_in_and_then_nobody_asks_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hosted, written = RagWorkflow.open(), tmp_path / "mill.txt"
    assert "1912" in (await drive(hosted, {"question": OPENED})).outcome.answer
    written.write_text("The mill of Aarle was built by Griet Maas.")
    _ingested(hosted.services, {written: "mill.txt"}, ())
    for opened in (hosted, RagWorkflow.open()):
        assert "Griet Maas" in (await drive(opened, {"question": "Who built the mill of Aarle?"})).outcome.answer
        assert "1912" not in (await drive(opened, {"question": OPENED})).outcome.answer
        opened.close()


@pytest.mark.parametrize(
    "given",
    [
        {}, {"question": 3}, {"question": "why", "store": "/etc"}, {"question": "why", "history": "because"},
        {"question": "why", "max_retry_count": -1}, {"question": "why", "where": {"documents": ["/etc"]}},
        {"question": "why", "where": {"after": "soon"}},
    ],
)  # fmt: skip
def test_unusable_input_is_refused_before_anything_runs(hosted, given):
    with pytest.raises(InputError):
        hosted.run(given, {}, "r")
