"""
The only write path of whole files: from a file to records that are being served.

The packages stand in the order of the way: ``sources`` copies the file to this machine, ``formats``
stages its rows, ``types`` finds their types, ``publishing`` writes the records, and ``jobs`` runs
all of that.  Each imports only from those before it.
"""
