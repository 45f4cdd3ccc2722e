"""
A server of the Model Context Protocol: tools with which agents find, describe and ask resources.

A portal includes ``urls``.  ``tools`` is the table of tools.
Each tool runs an action of ``api`` for the user of the request, and ``answers`` writes its result
as text of a bounded size.  ``transport`` hands messages to the SDK.
"""
