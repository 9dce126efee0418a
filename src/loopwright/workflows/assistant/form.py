"""What the conference assistant takes from a host's form, and questions to try on the sample conference."""

from __future__ import annotations

from typing import Any

from loopwright.workflows.assistant.pipeline import LONGEST_MESSAGE
from loopwright.workflows.hosting import MULTILINE, Example

_TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
_TEXTS = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 50}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message"],
    "properties": {
        "message": {
            "type": "string", "format": MULTILINE, "title": "Message", "minLength": 1, "maxLength": LONGEST_MESSAGE,
        },
        "user_context": {
            "type": "object",
            "title": "Who asks, and when",
            "additionalProperties": False,
            "properties": {
                "user_id": {**_TEXT, "title": "Person", "description": "Whose profile is used and kept."},
                "conversation_id": {
                    **_TEXT, "title": "Conversation", "description": "Its earlier turns are used and this one is kept.",
                },
                "now": {
                    "type": "string", "format": "date-time", "title": "Now",
                    "description": "The moment of asking, ISO time; by default the present one.",
                },
                "profile": {
                    "type": "object",
                    "title": "Profile",
                    "description": "What is known of the person, for this question alone.",
                    "additionalProperties": False,
                    "properties": {
                        "name": {**_TEXT, "minLength": 0, "title": "Name"},
                        "interests": {**_TEXTS, "title": "Interests"},
                        "seeking": {**_TEXTS, "title": "Seeking"},
                        "offering": {**_TEXTS, "title": "Offering"},
                        "languages": {**_TEXTS, "title": "Languages", "description": "Codes, for example en."},
                    },
                },
            },
        },
    },
}  # fmt: skip
"""The JSON schema of the input."""

EXAMPLES = (
    Example(title="Answered at the first search", input={"message": "Which keynotes are there?"}),
    Example(
        title="Thought over twice, and answered in part",
        input={"message": "Are there talks about gardening on Saturday morning?"},
    ),
    Example(title="Found elsewhere than asked", input={"message": "Who can I talk to about storage?"}),
    Example(title="Stopped by the bound", input={"message": "What is on about security on the first day?"}),
    Example(
        title="With a profile",
        input={
            "message": "What should I not miss on Sunday?",
            "user_context": {"profile": {"interests": ["soil", "repair"], "languages": ["en"]}},
        },
    ),
)
"""Questions to try on the sample conference."""
