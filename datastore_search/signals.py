"""
The signals that a portal can receive.

An exception of a receiver is logged, and changes nothing.
"""

from __future__ import annotations

from django.dispatch import Signal

#: Sent by ``Resource`` when a request of the API, a dump or a page is answered: ``name`` (an
#: action, ``dump`` or the name of a page), ``status``, ``seconds``, ``record_count``.  Of an answer
#: that is sent while it is read, it is sent before the first block.
request_answered = Signal()
