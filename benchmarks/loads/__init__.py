"""
What loads take: the portal's, and in turn with it what PostgreSQL and CKAN need to copy the same.

``files`` loads one file of each size, ``many`` small ones in a row.  The portal loads within a
process of its own (``worker``), so that its memory is that of one load.
"""
