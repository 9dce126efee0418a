"""The parts of a comparison of two runs; `loopwright.runs.compare` puts them together."""
