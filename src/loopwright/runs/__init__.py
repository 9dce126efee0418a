"""Run history: runs and what happened in them, kept as it happens; and what can be learnt by looking at several."""
