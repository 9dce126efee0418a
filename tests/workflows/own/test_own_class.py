"""A workflow that is one class, with what the defaults of `Workflow` make of it."""

import json
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hosted_graphs import opened
from langgraph.types import interrupt
from pydantic import BaseModel, Field, SecretStr, field_validator
from shapes import graph

from loopwright import bounded
from loopwright.config import Section
from loopwright.diagram.shown import NodeInfo
from loopwright.engine import BoundedGraph, RunResult, arun
from loopwright.errors import ConfigError, GraphError, InputError
from loopwright.testing import always
from loopwright.workflows.api import Outcome, Upload, Workflow, WorkflowInput
from loopwright.workflows.evaluation import aevaluate
from loopwright.workflows.evaluation.questions import Expected, read_questions
from loopwright.workflows.sections import WorkflowConfig


class Note(TypedDict, total=False):
    photo: str
    summary: str
    tone: str
    steps: Annotated[list[str], operator.add]


class Part(BaseModel):
    words: int = 1
    who: str = "desk"


class Noting(Workflow):
    """Says how long a file is, in a tone."""

    name = "note-it"

    class Input(WorkflowInput):
        tone: str
        photo: Upload | None = Field(default=None, alias="picture")

    class Config(WorkflowConfig):
        class Own(Section):
            words: int = 3
            parts: dict[str, Part] = Field(default_factory=lambda: {"a": Part(who="ann")})

            @field_validator("words")
            @classmethod
            def _enough(cls, words: int) -> int:
                if words < 1:
                    raise ValueError("Those are too few")
                return words

        note_it: Own = Own()

    nodes: Mapping[str, NodeInfo] = {"read": NodeInfo(label="Read", has_llm=True)}

    def build(self, services: Any) -> BoundedGraph:
        def read(state: Note) -> Note:
            if state["tone"] == "ask":
                interrupt("how?")
            return {"summary": f"{len(Path(state['photo']).read_text())} letters"}

        return bounded(graph("START-read read-END", Note, read=read))

    def score(self, expected: Expected, outcome: Outcome) -> dict[str, float | None]:
        return {"length": float(len(outcome.details["summary"])), **({"kind": "good"} if outcome.error else {})}


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_text("four")
    return tmp_path / "a.png"


async def test_files_are_handed_on_as_paths_and_none_but_uploads_are_taken(photo):
    hosted = Noting.open()
    run = hosted.run({"tone": "formal", "picture": "id1"}, {"id1": photo}, "r")
    outcome, _ = await run.ended(await arun(hosted.graph(None), run.graph_input))
    assert outcome.answer == "4 letters", "what was given, and left as it was, is no answer"
    assert hosted.places == {"photo"}
    with pytest.raises(InputError, match="photo is '/etc/hostname', and there is no such file"):
        hosted.run({"tone": "formal", "picture": "/etc/hostname"}, {}, "r")


def test_a_section_of_its_own_goes_with_models_for_its_nodes():
    hosted = Noting.open(overrides={"note_it.words": 5, "models.read": "Azure-OpenAI:x"})
    assert hosted.services.config.note_it.words == 5
    assert hosted.models is not None and hosted.models.models_of("read") == ("Azure-OpenAI:x",)
    wrong = {"note-it.words": "note_it", "note_it.wrods": r"note_it\.wrods", "note_it.words": "0: those are too few"}
    for key, told in wrong.items():
        with pytest.raises(ConfigError, match=told):
            Noting.open(overrides={key: 0})
    assert Noting.open(overrides={"langgraph.recursion_limit": 7}).graph(None).config["recursion_limit"] == 7
    parts = Noting.open(overrides={"note_it.parts": {"a": {"words": 2}, "b": {}}}).services.config.note_it.parts
    assert parts == {"a": Part(words=2, who="ann"), "b": Part()}, "the keys of a mapping are anybody's"
    failing = {"load": classmethod(lambda cls, *given, **named: int("no folder"))}
    with pytest.raises(ConfigError, match="no folder"):
        type("Failing", (Noting,), {"Config": type("Config", (Noting.Config,), failing)}).open()


def test_a_class_of_a_class_has_nodes_and_a_state_of_its_own():
    first = type("First", (Noting,), {"state_schema": Note})
    second = type("Second", (first,), {"nodes": {"write": NodeInfo(label="Write", has_llm=True)}, "state_schema": Part})
    assert second.open(overrides={"models.write": always("x")}).models.chat("write").invoke("q").text == "x"
    assert (first.allow, second.allow) == ((Note,), (Note, Part))


class Target(BaseModel):
    folder: Path = Path()


class Written(WorkflowInput):
    tone: str
    out: Path | None = Field(default=None, alias="to")
    targets: dict[str, list[Target]] = Field(default_factory=dict)


async def test_no_client_names_a_path_of_this_machine(tmp_path):
    hosted = type("Writing", (Noting,), {"Input": Written}).open()
    async with opened(tmp_path, hosted) as hub:
        for key, said in {"to": {"to": "a"}, "targets": {"targets": {"x": [{"folder": "/etc"}]}}}.items():
            assert hosted.run({"tone": "x", **said}, {}, "r").given == {"tone": "x", **said}
            with pytest.raises(InputError, match=f"{key} is a path of the machine"):
                await hub.start("note-it", {"tone": "x", **said})
    assert {"out", "targets"} <= hosted.places


async def test_who_stops_to_ask_and_who_cannot_be_scored_end_no_evaluation(photo):
    hosted, questions = Noting.open(), photo.with_name("q.jsonl")
    with pytest.raises(InputError, match="stopped to ask a person"):
        [event async for event in hosted.follow(hosted.run({"tone": "ask"}, {}, "r"))]
    asked = [{"tone": "ask"}, {"tone": "x"}, {"tone": "x", "picture": "a.png"}]
    questions.write_text("\n".join(json.dumps({"id": str(n), **each}) for n, each in enumerate(asked)))
    outcomes = (await aevaluate(hosted, questions)).outcomes
    assert [each.status for each in outcomes] == ["failed", "failed", ""]
    assert "stopped to ask" in str(outcomes[0].error)
    assert (outcomes[1].scores, outcomes[2].scores) == ({}, {"length": 9.0})
    with pytest.raises(InputError, match="'id' is a field of the input too, which therefore stands under 'input'"):
        read_questions(questions, ["id", "tone", "picture"])


async def test_a_file_has_a_field_of_its_own_and_an_outcome_is_one():
    class Listed(WorkflowInput):
        photos: list[Upload]

    with pytest.raises(TypeError, match="a field of its own"):
        type("Wrong", (Noting,), {"Input": Listed}).open()
    with pytest.raises(GraphError, match="build gave a StateGraph"):
        type("Unbound", (Noting,), {"build": lambda self, services: graph("", Note)}).open().graph(None)

    class Input(WorkflowInput):
        pins: tuple[SecretStr, ...] = ()
        words: Any = None

    noting = type("Guarded", (Noting,), {"Input": Input, "start": lambda *_: {}}).open()
    for given, title in ({"pins": ["1"], "words": "f2"}, "Note It"), ({"words": [["x", "f2"]]}, '{"words": [["x"]]}'):
        assert noting.run(given, {"f2": Path("a.png")}, "r").title == title
    silent = type("Silent", (Noting,), {"outcome": lambda self, state: None}).open()
    with pytest.raises(TypeError, match="no Outcome"):
        await silent.run({"tone": "x"}, {}, "r").ended(RunResult({}, ()))
