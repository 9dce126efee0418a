"""An image-quality agent that explains itself.

A planner reads the question, an executor measures, a summarizer answers from the evidence, and where the evidence is
not enough it asks for another plan, a bounded number of times::

    START -> planner -> executor -> summarizer -> planner (loop `replan`) | END

The loop ``replan`` goes from the summarizer back to the planner, ``max_replan_iterations`` times (2), never more often
than ``langgraph.max_iterations`` (10). When that is used up, the run ends with its last answer and a ``stop_reason``.
A new plan that asks for the same work as the last one ends the loop as well.

Without a chat model, everything runs on rules and measurements.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
