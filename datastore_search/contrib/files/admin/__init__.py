"""The parts of the admin that load files; autodiscovery registers ``loads``."""

from . import loads

__all__ = ["loads"]
