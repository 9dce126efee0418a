"""The parts of the loop report; `loopwright.runs.report` puts them together."""
