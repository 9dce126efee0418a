"""How well the tools and the pipeline agree with people: calibration and evaluation."""
