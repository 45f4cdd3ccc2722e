"""A soak: a portal under mixed work for a long time, while its processes are killed."""
