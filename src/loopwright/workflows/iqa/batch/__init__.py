"""Many images: a folder or a manifest in, one table out, over processes, machines and interruptions.

`run_batch` runs the workflow's pipeline on each image in a pool of processes and appends every finished row to a
journal beside the output, so that a killed batch goes on where it was. The table is written from it at the end.
`merge_tables` joins the tables of several shards.
"""

from __future__ import annotations

from loopwright.workflows.iqa.batch.merging import merge_tables
from loopwright.workflows.iqa.batch.running import BatchResult, Progress, run_batch
from loopwright.workflows.iqa.batch.samples import Sample, Shard

__all__ = ["BatchResult", "Progress", "Sample", "Shard", "merge_tables", "run_batch"]
