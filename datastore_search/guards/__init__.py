"""What a client may ask of a process, and what its requests may weigh."""
