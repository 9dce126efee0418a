"""About the question, by rules alone: where it goes, how hard it is, and what to search next."""
