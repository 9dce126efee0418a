"""The proof that every cycle of a graph crosses a bound, the certificate of its worst case, and how a graph is read."""
