"""
Attacks on a portal of this machine, all at once, while an honest client sends requests.

The portal passes if that client gets its answers in time and the server's memory stays limited.
"""
