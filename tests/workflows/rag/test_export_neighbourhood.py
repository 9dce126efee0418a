"""Which part of the graph a neighbourhood shows."""

from __future__ import annotations

import json

import pytest

from loopwright.errors import InputError
from loopwright.retrieval.stores import open_store
from loopwright.workflows.rag.export import neighbourhood, neighbourhood_of_answer
from loopwright.workflows.rag.ingestion import ingest
from loopwright.workflows.rag.schemas import Answer, Citation

DOCUMENTS = [
    {"id": "p0", "title": "Ada Lovelace", "text": "Ada Lovelace was born in London. She worked with Charles Babbage."},
    {
        "id": "p1",
        "title": "Charles Babbage",
        "text": "Charles Babbage was born in London. He designed the Analytical Engine.",
    },
    {"id": "p2", "title": "Alan Turing", "text": "Alan Turing was born in London. He studied at Princeton University."},
    {"id": "p3", "title": "Bangkok", "text": "Bangkok is the capital of Thailand."},
]
TRIPLES = [
    {"subject": "Ada Lovelace", "relation": "wrote the first program for", "object": "Analytical Engine", "id": "t0"},
    {"subject": "Ada Lovelace", "relation": "admired", "object": "Ada Lovelace", "id": "t1"},
]


@pytest.fixture
def store(tmp_path):
    for name, rows in (("docs", DOCUMENTS), ("triples", TRIPLES)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with open_store(f"sqlite:{tmp_path / 'k.db'}") as opened:
        report = ingest([tmp_path / "docs.jsonl", tmp_path / "triples.jsonl"], opened)
        assert not report.problems
        yield opened


def passage(store, key):
    (document,) = (each for each in store.documents() if each.key == key)
    return store.passages_of(document.id)[0]


def test_a_passage_comes_with_the_entities_that_it_names_and_the_facts_that_it_states(store):
    shown = neighbourhood(store, [passage(store, "p0").id])
    labels = {node.label: node for node in shown.nodes}
    assert {"London", "Charles Babbage"} <= labels.keys()
    first = shown.nodes[0]
    assert first.kind == "passage" and first.asked_for and first.text == DOCUMENTS[0]["text"]
    assert not labels["London"].asked_for
    stated = [edge for edge in shown.edges if edge.kind == "fact"]
    assert stated and all(edge.quote and edge.quote in first.text and edge.passage == first.id for edge in stated)


def test_every_edge_is_between_nodes_that_are_shown_and_no_node_is_there_twice(store):
    shown = neighbourhood(store, entities=["london"])
    ids = [node.id for node in shown.nodes]
    assert len(set(ids)) == len(ids)
    assert shown.edges and {end for edge in shown.edges for end in (edge.source, edge.target)} <= set(ids)
    assert {"Ada Lovelace", "Charles Babbage", "Alan Turing"} <= {node.label for node in shown.nodes}
    assert "Bangkok" not in {node.label for node in shown.nodes}


def test_what_is_linked_to_more_of_what_is_asked_for_comes_first(store):
    shown = neighbourhood(store, [passage(store, key).id for key in ("p0", "p1")], limit=4)
    # Both passages name London and Charles Babbage, and each names others alone.
    assert {node.label for node in shown.nodes if node.kind == "entity"} == {"London", "Charles Babbage"}
    assert shown.left_out > 0


def test_the_limit_holds_also_for_what_is_asked_for(store):
    ids = [passage(store, key).id for key in ("p0", "p1", "p2")]
    shown = neighbourhood(store, ids, limit=2)
    assert [node.id for node in shown.nodes] == [f"passage:{id}" for id in ids[:2]]
    with pytest.raises(InputError, match="limit from 1"):
        neighbourhood(store, ids, limit=0)


def test_what_is_not_in_the_store_is_left_out(store):
    assert neighbourhood(store, ["nothing::0"], ["nobody at all"]).nodes == ()


def test_imported_facts_are_edges_with_their_source(store):
    shown = neighbourhood(store, entities=["ada lovelace"])
    (fact,) = (edge for edge in shown.edges if edge.relation == "wrote the first program for")
    assert (fact.source, fact.target) == ("entity:ada lovelace", "entity:analytical engine")
    assert "wrote the first program for" in fact.quote


def test_an_alias_leads_to_the_entity_that_it_stands_for(tmp_path):
    text = "The European Space Agency (ESA) is based in Paris. ESA was founded in 1975."
    (tmp_path / "d.jsonl").write_text(json.dumps({"id": "w", "title": "Space", "text": text}), encoding="utf-8")
    with open_store("memory") as opened:
        ingest([tmp_path / "d.jsonl"], opened)
        shown = neighbourhood(opened, entities=["esa"])
    assert shown.nodes[0].label == "European Space Agency" and shown.nodes[0].asked_for


def test_an_answers_citations_are_numbered_on_their_passages_and_the_web_is_left_out(store):
    cited = passage(store, "p1")
    quote = "Charles Babbage was born in London."
    answer = Answer(
        text="Charles Babbage was born in London [1][2].",
        short="London",
        citations=(
            Citation(number=1, evidence_id=cited.id, quote=quote, start=0, end=len(quote), title=cited.title),
            Citation(number=2, evidence_id="web:1", quote=quote, start=0, end=1, title="Web", origin="web"),
        ),
    )
    shown = neighbourhood_of_answer(store, answer)
    assert [(node.id, node.citations) for node in shown.nodes if node.citations] == [(f"passage:{cited.id}", (1,))]
    assert {node.label for node in shown.nodes if node.asked_for} == {"Charles Babbage", "London"}
