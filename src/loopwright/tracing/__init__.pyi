from .instrumenting import exporting as exporting, instrument as instrument, uninstrument as uninstrument
