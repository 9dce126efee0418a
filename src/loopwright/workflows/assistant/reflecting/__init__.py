"""Thinking again after a poor search: whether to, and what to search next."""
