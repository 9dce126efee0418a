"""The quality tools that compare an image with its pristine reference.

Each takes a `Pair`, from which all take the same planes, and gives one number in the tool's own unit and direction.
NumPy and OpenCV only; the maps are float32, the final sums float64. `docs/tools.md` has the values of independent
implementations beside ours.
"""
