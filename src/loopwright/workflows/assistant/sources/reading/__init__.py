"""Reading what organisers have: schedules, and tables of exhibitors and attendees."""

from __future__ import annotations

from loopwright.workflows.assistant.sources.reading.schedules import Schedule, TableRead, read_schedule, read_table

__all__ = ["Schedule", "TableRead", "read_schedule", "read_table"]
