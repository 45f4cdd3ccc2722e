"""What every entrance over HTTP shares: addresses, caching, reports, streams, tokens."""
