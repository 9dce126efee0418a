"""A conference assistant that reflects: it visibly rethinks a failed search, and every loop of it is bounded.

The question is read, the conference's sessions, speakers, exhibitors and attendees are searched, and what was found is
checked; where that is poor, the search is thought over and planned anew, a bounded number of times::

    START -> fetch_data -> update_profile (or not) -> generate_acknowledgment -> plan_queries
    plan_queries -> execute_queries -> check_results
        -> generate_response | reflect_and_replan (loop `reflect`) | relax_and_retry (loop `relax`)
    reflect_and_replan -> execute_queries        relax_and_retry -> check_results
    generate_response -> evaluate -> END

Of the loops ``reflect`` (``reflection_enabled``, the default) and ``relax`` one is wired; it goes round
``max_retry_count`` times (2).

Without a chat model, everything runs on rules: what is found is listed and explained, each record by its id.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
