"""Web search behind one protocol, and how untrusted text reaches a chat model."""

from loopwright.retrieval.web.opening import SearchSettings, WebSearch, open_search
from loopwright.retrieval.web.quoting import quote_untrusted, untrusted_line

__all__ = ["SearchSettings", "WebSearch", "open_search", "quote_untrusted", "untrusted_line"]
