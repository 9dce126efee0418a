"""The conference: reading it from files, keeping it in a store, and having it at hand for every question."""
