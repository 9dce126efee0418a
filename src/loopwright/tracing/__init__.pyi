from .exporting import exporting as exporting
from .instrumenting import instrument as instrument, uninstrument as uninstrument
