"""
Attacks on a portal of this machine, all at once, with an honest client beside them.

The answers to that client and the memory of the server decide.
"""
