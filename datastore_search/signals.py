"""
The signals that a portal can receive.

An exception of a receiver is logged, and changes nothing.
"""

from django.dispatch import Signal

#: The surrogate key of answers about several resources.
CATALOGUE_KEY = "catalogue"

#: Sent by ``Resource`` when a request of the API, a dump or a page is answered: ``name`` (an
#: action, ``dump`` or the name of a page), ``status``, ``seconds``, ``record_count``, the
#: ``resource`` that it names or None, and with replicas the alias of the ``database``.  Of an
#: answer that is sent while it is read, it is sent before the first block.
request_answered = Signal()

#: Sent by ``Resource`` when a search of a larger table sorts by fields, compares or groups them,
#: and their order has no index: ``resource``, and the ``names`` of the fields.
orders_wanted = Signal()

#: Sent by ``Resource`` when ``datastore_create``, ``datastore_upsert`` or a deletion is committed,
#: or a load is taken back: ``resource``, and the numbers of records ``added``, ``updated``, which
#: had other values, and ``deleted``.  A resource whose table was dropped has no ``table_version``.
resource_written = Signal()

#: Sent by a model when a change is committed that answers depend on: ``keys``, the surrogate keys
#: of these answers, which are the id of each changed resource, and ``CATALOGUE_KEY``.
answers_changed = Signal()
