"""More than one machine: a cache in front, replicas."""
