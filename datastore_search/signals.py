"""
What a portal may listen to.

Both are sent once nothing can take the load back, in the process that ran it.  What a receiver
raises is logged, and changes nothing.
"""

from __future__ import annotations

from django.dispatch import Signal

#: Sent by ``Resource`` when a load is served: ``resource``, ``load``.
resource_loaded = Signal()

#: Sent by ``Resource`` when a load has failed, not when somebody cancelled it: ``resource``,
#: ``load``, ``failure``, a ``LoadFailed``.
load_failed = Signal()
