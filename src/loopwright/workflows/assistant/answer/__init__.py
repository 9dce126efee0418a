"""Writing the answer, with or without a chat model, and judging it."""
