"""Where files come from: paths, uploads, URLs and archives, and the folders they are copied to."""
