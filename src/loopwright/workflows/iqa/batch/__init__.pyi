from .merging import merge_tables as merge_tables
from .running import BatchResult as BatchResult, Progress as Progress, run_batch as run_batch
from .samples import Sample as Sample, Shard as Shard
