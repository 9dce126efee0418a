"""Hybrid retrieval: lexical, dense and graph search over one knowledge store, fused by rank."""
