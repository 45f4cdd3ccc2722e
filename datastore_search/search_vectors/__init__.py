"""
Search vectors that a load builds itself, in a process of its own.

``builder`` builds them from texts.  ``process`` starts ``child``, which runs the builder, so that
it does not share a core with the other work of the load.
"""
