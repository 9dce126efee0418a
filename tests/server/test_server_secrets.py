"""Keys and passwords: in no reply, event, figure or log, whatever goes wrong."""

import logging

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from provider_server import Failed, Said, providing
from scripted_server import read_all
from shapes import graph
from typing_extensions import TypedDict

from loopwright.engine.events.schema import ModelCalled
from loopwright.models import ModelRegistry, allow_model_requests
from loopwright.server.metrics import MOST_MODELS, OTHER, Metrics
from loopwright.workflows.user_graph import UserGraph

KEY, TOKEN = "sk-proj-hidden0123456789abcdef", "t0ken-hidden-from-all"


class Asked(TypedDict, total=False):
    """What is asked."""

    question: str
    answer: str


def asking(url: str) -> UserGraph:
    """A graph that asks a model, which needs a key."""
    spec = {"model": "openai:own", "base_url": url, "api_key": KEY, "max_retries": 0}
    registry = ModelRegistry({"ask": spec}, nodes=("ask",))

    def ask(state: Asked) -> Asked:
        with allow_model_requests():
            model = registry.chat("ask")
            assert model is not None
            return {"answer": model.invoke(state["question"]).text}

    hosted = UserGraph("asking", graph("START-ask", Asked, ask=ask))
    hosted.models, hosted.model_nodes = registry, ("ask",)
    return hosted


@pytest.fixture
def models():
    with providing("openai") as played:
        yield played


async def test_no_secret_is_told_to_anybody(serve_script, models, caplog):
    caplog.set_level(logging.DEBUG)
    # Providers may repeat the key that was sent.
    models.replies.extend(
        [Failed(401, f"Incorrect: {KEY}"), Failed(500, "no upstream for the key that was sent"), Said("Hello.")]
    )
    served = serve_script(workflows=[asking(models.base_url)], token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    told: list[str] = []
    async with httpx.AsyncClient(base_url=served.url, timeout=120, headers=headers, trust_env=False) as client:

        async def note(method: str, path: str, **options) -> httpx.Response:
            reply = await client.request(method, path, **options)
            told.append(reply.text + str(reply.headers))
            return reply

        statuses = []
        for _ in range(3):
            asked = {"workflow": "asking", "input": {"question": "Who?"}}
            run_id = (await note("POST", "/runs", json=asked)).json()["id"]
            told.append(str(await read_all(client, "GET", f"/runs/{run_id}/events")))
            record = (await note("GET", f"/runs/{run_id}")).json()
            statuses.append(record["status"])
            for path in ("log", "graph", "checkpoints"):
                await note("GET", f"/runs/{run_id}/{path}")
            await note("GET", f"/runs/{run_id}/test")
        assert statuses == ["failed", "failed", "finished"]
        for path in ("/workflows", "/workflows/asking/topology", "/workflows/asking/models", "/metrics", "/runs"):
            assert (await note("GET", path)).status_code == 200
        for model in ("openai:x;api_key=y", "nobody:x", "openai:http://10.0.0.1/v1", "openai:../../admin"):
            reply = await note("PUT", "/workflows/asking/models/ask", json={"model": model})
            assert reply.status_code == 400, model
        assert (await note("GET", "/runs", headers={"Authorization": f"Bearer {TOKEN}x"})).status_code == 401
        assert (await note("GET", f"/runs?token={TOKEN}", headers={"Authorization": ""})).status_code == 401
    assert len(models.bodies) == 3, "the model was asked"
    # The clients of the tests, and the models' own, log what they send; the server does not.
    told += [
        record.getMessage() for record in caplog.records if record.name.partition(".")[0] in ("loopwright", "uvicorn")
    ]
    for secret in (KEY, TOKEN):
        assert not [text[max(0, text.index(secret) - 100) :][:200] for text in told if secret in text], secret


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"


SAID = (
    "postgresql://me:hunter-secret@db/runs", "redis://:hunter-secret@cache:6379", "?user=me&password=hunter-secret",
    f"{'long ' * 30}password=hunter-secret", f"Authorization: {JWT}",
)  # fmt: skip


async def test_passwords_in_texts_and_web_tokens_are_in_nothing_that_is_kept_of_a_run(serve_script):
    echo = graph("START-echo", Asked, echo=lambda state: {"answer": f"You said {state['question']}"})
    served = serve_script(workflows=[UserGraph("echo", echo)])
    async with httpx.AsyncClient(base_url=served.url, timeout=60, trust_env=False) as client:
        for said in SAID:
            asked = {"workflow": "echo", "input": {"question": said}}
            run_id = (await client.post("/runs", json=asked)).json()["id"]
            told = [str(await read_all(client, "GET", f"/runs/{run_id}/events"))]
            told += [(await client.get(f"/runs{path}")).text for path in ("", f"/{run_id}", f"/{run_id}/log")]
            assert not [text for text in told for secret in ("hunter-secret", JWT) if secret in text], said
            assert "You said" in told[-1]


def test_the_names_of_models_that_are_counted_apart_are_bounded():
    metrics = Metrics()
    for number in range(3 * MOST_MODELS):
        metrics.happened("own", ModelCalled(node=None, model=f"openai:{number}", messages=[], reply="", seconds=1))
    models = {
        sample.labels["model"]
        for family in text_string_to_metric_families(metrics.text((), {}).decode())
        for sample in family.samples
        if sample.name == "loopwright_model_tokens_total"
    }
    assert len(models) == MOST_MODELS + 1
    assert OTHER in models
