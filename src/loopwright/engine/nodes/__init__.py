"""How a single node is run: retries, timeouts, errors that name it, and how a run goes on without it."""
