"""Plans: the first one from the question, and the next ones from what was missing."""
