"""What LangGraph's own clients ask for: assistants, threads and runs, as their SDK and ``RemoteGraph`` use them.

Made after the client's code and LangGraph's public description of the API alone.
"""
