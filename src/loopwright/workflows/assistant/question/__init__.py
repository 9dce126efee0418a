"""Reading what is asked, and planning the first search."""
