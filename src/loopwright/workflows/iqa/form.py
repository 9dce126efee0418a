"""What the image-quality workflow takes from a host's form, what its stages are called, and pictures to try it on."""

from __future__ import annotations

from typing import Any

from loopwright.workflows.hosting import MULTILINE, UPLOAD, Example, NodeInfo

LONGEST_QUERY = 10_000
"""Characters of a question."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query", "image"],
    "properties": {
        "query": {
            "type": "string", "format": MULTILINE, "title": "Question", "minLength": 1, "maxLength": LONGEST_QUERY,
        },
        "image": {"type": "string", "format": UPLOAD, "title": "Picture", "contentMediaType": "image/*"},
        "reference": {
            "type": "string", "format": UPLOAD, "title": "Reference", "contentMediaType": "image/*",
            "description": "The same picture without faults, if there is one, of the same size.",
        },
        "max_replan_iterations": {
            "type": "integer", "title": "Replans", "minimum": 0,
            "description": "How many are allowed; by default as configured, 0 switches them off.",
        },
        "region": {
            "type": "array", "title": "Region", "items": {"type": "integer", "minimum": 0},
            "minItems": 4, "maxItems": 4,
            "description": "Left, top, width and height in pixels, if only a part is asked about.",
        },
    },
}  # fmt: skip
"""The JSON schema of the input."""

EXAMPLES = (
    Example(
        title="A blurred picture",
        input={"query": "How is the quality of this image?", "image": "sample:harbour-blurred"},
    ),
    Example(
        title="With a reference, replanned until the tools agree",
        input={
            "query": "What is wrong with this image?",
            "image": "sample:harbour-blurred",
            "reference": "sample:harbour",
        },
    ),
    Example(
        title="An object that cannot be located, so it is replanned",
        input={"query": "Is the red boat blurry?", "image": "sample:harbour-blurred"},
    ),
    Example(
        title="A multiple-choice question",
        input={
            "query": "Which distortion is strongest?\nA) noise\nB) blur\nC) compression",
            "image": "sample:harbour-compressed",
        },
    ),
)
"""Questions to try on the sample pictures."""

NODE_INFO: dict[str, NodeInfo] = {
    "planner": NodeInfo(
        label="Plan",
        icon="🗺️",
        has_llm=True,
        prompt="planner",
        description="Make the first plan of what to measure, or a new one after a replan.",
    ),
    "executor": NodeInfo(
        label="Measure",
        icon="📏",
        description="Detect and analyse distortions, and run the quality tools, as the plan says.",
    ),
    "summarizer": NodeInfo(
        label="Conclude",
        icon="⚖️",
        has_llm=True,
        prompt="summarizer",
        description="Answer the question from the measurements, and say whether another plan is needed.",
    ),
}
"""Stage -> what people are shown of it."""

PROGRESS: dict[str, str] = {
    "planner": "Planning what to measure…",
    "executor": "Measuring the picture…",
    "summarizer": "Drawing the conclusion…",
}
"""Stage -> what people are told when it begins."""
