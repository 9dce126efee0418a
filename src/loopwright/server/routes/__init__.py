"""The server's endpoints, by subject."""
