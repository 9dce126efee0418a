"""The metrics of pyiqa as quality tools, where it is installed (extra ``iqa-deep``) and asked for by name.

Nothing here runs unless somebody names one of its metrics: none is chosen, stands in for a failed tool, or is imported
otherwise. pyiqa and the weights of many of its metrics are for non-commercial use only.
"""
