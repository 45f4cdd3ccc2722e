"""
Small files, each with a trap, and what must come of them.

They were made once, by the programs that their traps name or with ``tests.files.contents``.
"""
