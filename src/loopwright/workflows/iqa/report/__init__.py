"""Runs of the pipeline as one HTML file that opens anywhere, offline, worst image first.

The page holds everything that it shows, its style and its pictures. It loads and runs nothing, and its content security
policy would not allow it. All text is escaped where it is put in.
"""

from loopwright.workflows.iqa.report.pictures import THUMBNAIL_SIDE
from loopwright.workflows.iqa.report.table_rows import Overview, ReportRow
from loopwright.workflows.iqa.report.writing import write_report

__all__ = ["THUMBNAIL_SIDE", "Overview", "ReportRow", "write_report"]
