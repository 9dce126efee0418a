from .processes import Progress as Progress
from .running import run_batch as run_batch
from .samples import Sample as Sample, Shard as Shard
