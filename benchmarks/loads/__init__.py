"""
Times of loads: the portal's, and in turn with it a copy of the same rows by PostgreSQL and CKAN.

``files`` loads one file of each size, and small files one after the other.  The portal loads in a
separate process (``worker``), so that the measured memory is that of one load.
"""
