"""
Metrics for Prometheus: requests, loads and caches.

A portal includes ``urls``; nothing else imports this package.
"""
