"""The quality tools: what they compute, how their values become scores of 1 to 5, which to choose, and how they run."""
