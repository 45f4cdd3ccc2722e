"""Search vectors that a load builds itself, in a process of its own (``docs/decisions/0046``)."""
