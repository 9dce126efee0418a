"""The quality tools that look at one image alone, apart from NIQE, and the statistics that they share with it."""
