"""The chat model's opinion from token log-probabilities, where the provider gives them, else as declared."""

from __future__ import annotations

import json
import math

import pytest
from installed import needs
from provider_server import Failed, ProviderServer, Said

from loopwright.workflows.iqa.answer.fusion import weigh_opinion
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput, ToolLog
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.sample import sample_path

needs("langchain_openai", "langchain_anthropic", "langchain_google_genai", "langchain_ollama")

GIVING = ("openai", "ollama")
"""The formats that have log-probabilities through LangChain."""

DECLARED = {"bad": 0.1, "poor": 0.1, "fair": 0.1, "good": 0.1, "excellent": 0.6}
REPLY = {"final_answer": "Fair", "quality_reasoning": "MDSI 2.0.", "level_probabilities": DECLARED}


def services_on(server: ProviderServer) -> Services:
    return Services.of(IQAConfig.model_validate({"models": {"default": server.spec()}}))


def scored(services: Services):
    evidence = ExecutorOutput(
        selected_tools=["MDSI"], primary_tool="MDSI", quality_scores={"MDSI": 2.0},
        tool_logs=[ToolLog(tool="MDSI", raw=0.44, score=2.0)],
    )  # fmt: skip
    state = {
        "query": "Rate the quality.", "image_path": str(sample_path("harbour-blurred")),
        "plan": PlannerOutput(answer_mode="scoring"), "executor_evidence": evidence,
    }  # fmt: skip
    return summarizer_node(state, services)["summarizer_result"]


def tokens(listed: dict[str, float], chosen: str = "F") -> list[dict]:
    """The reply as tokens, certain but for the one that begins the level."""

    def entry(text: str, top: dict[str, float]) -> dict:
        alternatives = [
            {"token": token, "logprob": math.log(p), "bytes": [*token.encode()]} for token, p in top.items()
        ]
        return {"token": text, "logprob": math.log(top[text]), "bytes": [*text.encode()], "top_logprobs": alternatives}

    before, after = (
        '{"final_answer":"',
        'air"' + json.dumps(REPLY, separators=(",", ":"))[len('{"final_answer":"Fair"') :],
    )
    assert json.loads(before + chosen + after) == REPLY
    return [
        entry('{"', {'{"': 1.0}),
        entry(before[2:], {before[2:]: 1.0}),
        entry(chosen, listed),
        entry(after, {after: 1.0}),
    ]


def said(listed: dict[str, float]) -> Said:
    entries = tokens(listed)
    return Said("".join(entry["token"] for entry in entries), logprobs=entries)


def test_log_probabilities_are_asked_for_and_count_before_declared_ones(server):
    server.replies.append(said({"F": 0.6, "Good": 0.2, " Poor": 0.1, "poor": 0.05, '"P': 0.03, "Exc": 0.02}))
    result = scored(services_on(server))
    (body,) = server.bodies
    asked = {name: body[name] for name in ("logprobs", "top_logprobs") if name in body}
    if server.dialect in GIVING:
        assert asked == {"logprobs": True, "top_logprobs": 20}
        assert result.used_evidence["opinion_source"] == "log-probabilities"
        opinion = {int(level): p for level, p in result.used_evidence["opinion"].items()}
        assert opinion == pytest.approx({1: 0.0, 2: 0.18, 3: 0.6, 4: 0.2, 5: 0.02})
        assert result.quality_score == pytest.approx(weigh_opinion(2.0, opinion), abs=1e-4)
    else:
        assert asked == {} and "logprob" not in json.dumps(body).lower()
        assert result.used_evidence["opinion_source"] == "declared"
        assert result.quality_score == pytest.approx(2.02, abs=0.005)


@pytest.mark.parametrize("listed", [None, {"F": 0.6, "Good": 0.2}, {"F": 0.5, "Unable": 0.5}])
def test_without_enough_of_them_the_declared_ones_count(server, listed):
    server.replies.append(said(listed) if listed else Said(json.dumps(REPLY)))
    result = scored(services_on(server))
    assert result.used_evidence["opinion_source"] == "declared"
    assert result.quality_score == pytest.approx(2.02, abs=0.005)


def test_a_provider_that_refuses_them_is_asked_without_and_no_more(server):
    if server.dialect not in GIVING:
        pytest.skip("is not asked for them")
    refusal = Failed(400, "Unsupported parameter: 'logprobs' is not supported with this model.")
    server.replies.extend([refusal, Said(json.dumps(REPLY)), Said(json.dumps(REPLY))])
    services = services_on(server)
    for _ in range(2):
        assert scored(services).used_evidence["opinion_source"] == "declared"
    assert ["logprobs" in body for body in server.bodies] == [True, False, False]
    assert len(server.images(1)) == 1
    assert services.usage.total().failed_calls == 1
