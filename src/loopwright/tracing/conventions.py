"""The names in our spans and figures: OpenTelemetry's for agents where it has one, ours for what only we have.

Those for agents (https://opentelemetry.io/docs/specs/semconv/gen-ai/) are in development and may change with every
version, so they are written only where ``OTEL_SEMCONV_STABILITY_OPT_IN`` names ``gen_ai_latest_experimental``.
"""

import os
from collections.abc import Mapping

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT = "invoke_agent"
EXECUTE_TOOL = "execute_tool"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
TOOL = "gen_ai.tool.name"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
ERROR_TYPE = "error.type"
"""Stable."""

GRAPH = "loopwright.graph.name"
NODE = "loopwright.node.name"
VISIT = "loopwright.node.visit"
LOOP = "loopwright.loop.name"
PASSES = "loopwright.loop.passes"
LIMIT = "loopwright.loop.limit"
DECISION = "loopwright.loop.decision"
REASON = "loopwright.loop.reason"
COST = "loopwright.loop.cost"
BUDGET = "loopwright.budget.resource"
BUDGET_LIMIT = "loopwright.budget.limit"
BUDGET_SPENT = "loopwright.budget.spent"
STOP_REASON = "loopwright.stop_reason"
MAX_SUPERSTEPS = "loopwright.certificate.max_supersteps"
INTERRUPTED = "loopwright.interrupted"

REFUSALS = "loopwright.loop.refusals"


def of_agents(attributes: Mapping[str, str | int | None]) -> dict[str, str | int]:
    """Attributes of the conventions for agents that have a value; none unless they are asked for."""
    asked = {word.strip() for word in os.environ.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").split(",")}
    found = {key: value for key, value in attributes.items() if value is not None}
    return found if "gen_ai_latest_experimental" in asked else {}
