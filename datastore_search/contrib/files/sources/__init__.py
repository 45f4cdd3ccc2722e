"""
Where files come from: local files, uploads, URLs and archives, and the folders they are copied to.

``files`` makes a source readable on this machine, ``fetching`` does so for a URL, ``archives``
unpacks it, and ``limits`` apply to reading.
"""
