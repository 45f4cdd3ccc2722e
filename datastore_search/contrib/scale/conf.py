"""Settings of portals on more than one machine."""

from collections.abc import Sequence
from datetime import timedelta

from ...conf import Setting, Settings


class ScaleSettings(Settings):
    CACHE_ADDRESSES = Setting[Sequence[str]](
        (),
        "The [caches](../how-to/put-a-cache-in-front.md) to purge, as `http://127.0.0.1:6081`.",
        pattern=r"http://[^/?#\s]+",
    )
    REPLICAS = Setting[Sequence[str]](
        (), "The [replicas](../how-to/read-from-replicas.md), as aliases of `DATABASES`."
    )
    MAX_REPLICA_LAG = Setting(timedelta(seconds=10), "A replica that lags more is not read from.")
    PLACEMENT = Setting(
        "",
        "Where new record tables are: `citus` places each on a"
        " [worker of Citus](../how-to/scale.md).",
        pattern="citus",
    )


conf = ScaleSettings()
