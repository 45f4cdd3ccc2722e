"""Health and metrics of loads, if ``contrib.files`` is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import Error, router
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _
from health_check.exceptions import ServiceUnavailable
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..files.models import RUNNING, Load, LoadState
from .health.checks import NamedCheck, open_connection

#: A load whose process has reported within this time is running.
_MAX_HEARTBEAT_AGE = timedelta(minutes=1)


@dataclass(repr=False)
class Worker(NamedCheck):
    """Find out whether a worker takes loads: none waits for long while no other load is running."""

    max_wait: timedelta = timedelta(minutes=5)

    def run(self) -> None:
        now = timezone.now()
        with open_connection() as connection:
            loads = Load.objects.using(connection.alias)
            waiting = loads.filter(
                state=LoadState.QUEUED, started_at=None, queued_at__lt=now - self.max_wait
            )
            running = loads.filter(state__in=RUNNING, heartbeat_at__gt=now - _MAX_HEARTBEAT_AGE)
            is_idle = waiting.exists() and not running.exists()
        if is_idle:
            raise ServiceUnavailable(_("Loads are waiting, and no worker runs them."))


class LoadCollector(Collector):
    """The loads by their state; nothing while the database does not answer."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        states = GaugeMetricFamily("datastore_search_loads", "Loads by state.", labels=["state"])
        loads = Load.objects.using(router.db_for_write(Load)).order_by()
        try:
            counts = dict(loads.values_list("state").annotate(count=Count("pk")))
        except Error:
            return
        for state in LoadState.values:
            states.add_metric([state], counts.get(state, 0))
        yield states
        yield GaugeMetricFamily(
            "datastore_search_queue_length",
            "Loads that wait for a worker.",
            value=counts.get(LoadState.QUEUED, 0),
        )
