"""Does it help to think again? A question against its counterfactuals."""

from __future__ import annotations

from loopwright.workflows.assistant.comparing.comparing import acompare, compare, record_id
from loopwright.workflows.assistant.comparing.ways import Comparison, Variant, Way
from loopwright.workflows.assistant.comparing.wide import wide_plan

__all__ = ["Comparison", "Variant", "Way", "acompare", "compare", "record_id", "wide_plan"]
