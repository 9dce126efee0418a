"""Names and numbers that the requirement fixes."""

FETCH_DATA = "fetch_data"
UPDATE_PROFILE = "update_profile"
GENERATE_ACKNOWLEDGMENT = "generate_acknowledgment"
PLAN_QUERIES = "plan_queries"
EXECUTE_QUERIES = "execute_queries"
CHECK_RESULTS = "check_results"
REFLECT_AND_REPLAN = "reflect_and_replan"
RELAX_AND_RETRY = "relax_and_retry"
GENERATE_RESPONSE = "generate_response"
EVALUATE = "evaluate"

DEFAULT_LIMIT = 10
"""Hits that one planned query gives."""
DEFAULT_THRESHOLD = 0.35
"""The score below which a hit is only a near miss."""
MAX_LIMIT = 200
"""The largest limit that a query may have."""
SURE = 0.5
"""The evidence from which a record is what was asked for; below, it only comes near, or mentions it."""
