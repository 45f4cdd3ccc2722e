"""
Where files come from: local files, uploads, URLs and archives, and the folders they are copied to.

``fetching`` makes a source readable on this machine, ``archives`` unpacks it, and ``limits`` apply
to reading.
"""
