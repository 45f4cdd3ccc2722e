"""Metrics for Prometheus: requests, loads and caches; a portal includes ``urls``."""
