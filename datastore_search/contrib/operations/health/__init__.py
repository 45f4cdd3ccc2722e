"""Health of the portal, for load balancers and orchestrators; a portal includes ``urls``."""
