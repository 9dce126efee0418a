"""Which is better, and by how much: two images, two folders, or two codecs at several rates.

`compare_images` and `compare_folders` return typed results, which `report.write_comparison_report` makes a page of.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
