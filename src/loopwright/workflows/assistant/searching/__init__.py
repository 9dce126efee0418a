"""Searching the records of a conference with the parts that `loopwright.retrieval` gives."""
