"""Three whole products on the engine; none imports another."""
