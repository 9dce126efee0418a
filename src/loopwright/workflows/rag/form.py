"""What question answering takes from a host's form, what its nodes are called, and questions to try on the sample."""

from __future__ import annotations

from typing import Any

from loopwright.workflows.hosting import MULTILINE, Example, NodeInfo
from loopwright.workflows.rag.nodes import NODES
from loopwright.workflows.rag.pipeline import LONGEST_QUESTION

_DAY = {"type": "string", "format": "date"}
_TURNS = {"type": "array", "items": {"type": "string", "maxLength": LONGEST_QUESTION}, "maxItems": 100}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["question"],
    "properties": {
        "question": {
            "type": "string", "format": MULTILINE, "title": "Question", "minLength": 1, "maxLength": LONGEST_QUESTION,
        },
        "history": {
            **_TURNS, "title": "History", "description": "Earlier questions and answers in turns, oldest first.",
        },
        "max_retry_count": {
            "type": "integer", "title": "Query transformations", "minimum": 0,
            "description": "How often it may ask in other words; by default as configured for the kind of question.",
        },
        "where": {
            "type": "object",
            "title": "Documents that count",
            "additionalProperties": False,
            "properties": {
                "tags": {
                    "type": "array", "items": {"type": "string"}, "title": "Tags",
                    "description": "At least one of them.",
                },
                "after": {**_DAY, "title": "From", "description": "Dated on this day or later."},
                "before": {**_DAY, "title": "Until", "description": "Dated before this day."},
            },
        },
    },
}  # fmt: skip
"""The JSON schema of the input."""

EXAMPLES = (
    Example(title="Answered at the first search", input={"question": "When was the Stillwater Bridge opened?"}),
    Example(title="Two hops", input={"question": "Where was the designer of the Stillwater Bridge born?"}),
    Example(
        title="A comparison",
        input={"question": "Which was opened first, the Stillwater Bridge or the Oster Lake Railway?"},
    ),
    Example(title="Not in the documents", input={"question": "Who is the mayor of Brindlemere?"}),
    Example(
        title="Nothing relevant, so it turns to the web", input={"question": "How many bakeries does Brindlemere have?"}
    ),
)
"""Questions to try on the sample documents."""

_SHOWN: dict[str, tuple[str, str, str | None, str]] = {
    "route_question": ("Read the question", "🧭", "route_question", "Reading the question…"),
    "direct_answer": ("Answer directly", "💬", None, ""),
    "knowledge_graph_retrieval": ("Search the documents", "🔎", None, "Searching the documents…"),
    "nodes_and_edges_grading": ("Grade passages", "✅", "passage_grading", "Checking what was found…"),
    "next_hop": ("Next hop", "🪜", None, ""),
    "query_transformation": ("Ask in other words", "🔁", "query_transformation", ""),
    "web_search": ("Search the web", "🌐", None, "Searching the web…"),
    "web_grading": ("Grade web results", "☑️", "passage_grading", "Checking what the web has…"),
    "answer_generation": ("Write the answer", "✍️", "answer_generation", "Writing the answer…"),
    "generation_grading": ("Grade the answer", "⚖️", "generation_grading", "Checking the answer against its sources…"),
}
"""Node -> its label, icon, prompt, and what people are told when it begins; the others are told of when they end."""

NODE_INFO: dict[str, NodeInfo] = {
    node: NodeInfo(
        label=label,
        icon=icon,
        has_llm=prompt is not None,
        prompt=prompt,
        description=(NODES[node].__doc__ or "").partition("\n")[0],
    )
    for node, (label, icon, prompt, _) in _SHOWN.items()
}
"""Node -> what people are shown of it."""

PROGRESS: dict[str, str] = {node: said for node, (*_, said) in _SHOWN.items() if said}
"""Node -> what people are told when it begins."""
