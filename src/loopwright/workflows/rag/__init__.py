"""Adaptive question answering over a knowledge graph, with bounded retries and honest fallbacks.

The question is read, passages are found and graded, an answer with verified citations is written and graded; where that
fails, the graph asks in other words, writes anew, or looks on the web, a bounded number of times::

    START -> route_question -> knowledge_graph_retrieval | web_search | direct_answer
    knowledge_graph_retrieval -> nodes_and_edges_grading
        -> answer_generation | query_transformation (loop `transform`) | next_hop (loop `hops`)
    query_transformation, next_hop -> knowledge_graph_retrieval
    web_search -> web_grading -> answer_generation -> generation_grading
        -> END | answer_generation (loop `regenerate`) | query_transformation (loop `transform`)

The loop ``transform`` asks in other words, because nothing relevant was found or because the answer does not answer the
question: together ``max_retry_count`` times (3), never more often than ``langgraph.max_iterations`` (10). When that is
used up, the first leads to the web and the second ends the run with its best effort. The loop ``regenerate`` writes an
unsupported answer anew, twice. The loop ``hops`` searches what an answer to a part of the question leads to, four
times.

Without a chat model, everything runs on rules: passages are quoted, not paraphrased.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
