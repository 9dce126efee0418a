"""Which is better, and by how much: two images, two folders, or two codecs at several rates.

`compare_images` and `compare_folders` return typed results, which `report.write_comparison_report` makes a page of.
"""

from __future__ import annotations

from loopwright.workflows.iqa.comparing.folder_results import FolderComparison
from loopwright.workflows.iqa.comparing.folders import compare_folders
from loopwright.workflows.iqa.comparing.images import compare_images
from loopwright.workflows.iqa.comparing.results import ImageComparison, Verdict

__all__ = ["FolderComparison", "ImageComparison", "Verdict", "compare_folders", "compare_images"]
