"""Finds LangGraph graphs in source files and proves them, without running any of their code."""
