"""The question: what is asked, about what, and in which form."""
