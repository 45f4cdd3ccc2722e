"""
Attacks on a portal of this machine, all at once, while an honest client goes on asking.

Whether that client is answered, and what the server's memory does, decides.
"""
