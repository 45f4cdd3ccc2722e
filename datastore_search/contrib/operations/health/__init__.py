"""
Health of the portal, for load balancers and orchestrators: whether it lives and is ready.

A portal includes ``urls``; nothing else imports this package.
"""
