"""What becomes of a file's rows: the plan, their errors, and the records that are written."""
