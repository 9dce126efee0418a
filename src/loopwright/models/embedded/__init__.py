"""Small local models that run in this process: embeddings and a reranker; opt-in, and never fetched unasked.

`catalogue` says which files are known, `resolving` where they are, `pulling` brings them from their publisher. The
models themselves are opened by `encoder.open_embedder` and `encoder.open_reranker`, which need numpy, ONNX Runtime and
tokenizers; this package itself imports none of them.
"""
