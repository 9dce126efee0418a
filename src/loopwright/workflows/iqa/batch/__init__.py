"""Many images: a folder or a manifest in, one table out, over processes and interruptions.

`run_batch` runs the workflow's pipeline on each image in a pool of processes and appends every finished row to a
journal beside the output, so that a killed batch goes on where it was. The table is written from it at the end.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
