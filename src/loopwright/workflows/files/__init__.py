"""Reading the files that somebody gave, within bounds, and with a word on what could not be read."""

from loopwright.workflows.files.rows import csv_rows, json_lines, json_of
from loopwright.workflows.files.source import ReadingLimits, ReadingProblem, Source
from loopwright.workflows.files.text import text_lines, text_of

__all__ = ["ReadingLimits", "ReadingProblem", "Source", "csv_rows", "json_lines", "json_of", "text_lines", "text_of"]
