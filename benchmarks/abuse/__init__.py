"""
Attacks on a portal of this machine, alone and together, while honest clients ask questions.

The portal passes if honest clients get their answers in time and the server's memory stays limited.
"""
