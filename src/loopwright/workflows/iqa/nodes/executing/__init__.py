"""The parts of the executor: what is measured, the work on one part of the image, and a chat model's opinion of it."""
