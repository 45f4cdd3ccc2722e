"""
The signals of loads.

They are sent by the process that ran the load, when its transaction is committed.  An exception of
a receiver is logged, and changes nothing.
"""

from django.dispatch import Signal

#: Sent by ``Resource`` when a load is served: ``resource``, ``load``.
resource_loaded = Signal()

#: Sent by ``Resource`` when a load has failed, but not when a user cancelled it: ``resource``,
#: ``load``, ``failure`` (a ``LoadFailed``).
load_failed = Signal()
