"""How well the tools and the pipeline agree with people: calibration, evaluation, and questions with known answers."""
