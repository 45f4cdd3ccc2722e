"""Conditions on values in memory, which are combined like Django's ``Q``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one value."""

    is_met_by: Callable[[Any], bool]

    def __and__(self, other: Predicate) -> Predicate:
        """Require both."""
        return Predicate(lambda value: self.is_met_by(value) and other.is_met_by(value))

    def __or__(self, other: Predicate) -> Predicate:
        """Require one of them."""
        return Predicate(lambda value: self.is_met_by(value) or other.is_met_by(value))

    def __invert__(self) -> Predicate:
        """Require that it is not met."""
        return Predicate(lambda value: not self.is_met_by(value))
