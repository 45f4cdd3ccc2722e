"""Settings of analysing records."""

from datetime import timedelta

from ...conf import MAX_TIMEOUT, Setting, Settings


class AnalysisSettings(Settings):
    SUGGESTIONS_TIMEOUT = Setting(
        timedelta(seconds=2),
        "Time limit of the queries that are suggested in place of one; the time limit of a search "
        "applies, too. [Slower ones](facets-and-aggregates.md#time) are left out.",
        maximum=MAX_TIMEOUT,
    )
    ENGINE_MEMORY_BYTES = Setting(
        256 * 2**20,
        "Memory of the engine of each web process. The operating system ends what needs much more.",
    )
    ENGINE_THREADS = Setting(1, "Threads of the engine of each web process.")
    SQL_SEARCH = Setting(
        "",
        "Turns [`datastore_search_sql`](sql.md) on: `api` for programs, `staff` with a page *SQL* "
        "for staff too, `all` with that page for everyone. It is off if it is empty, as in CKAN.",
        pattern="api|staff|all",
    )
    SNAPSHOTS_FOLDER = Setting(
        "",
        "The folder of this machine's copies of snapshots; one in the folder for temporary files "
        "if it is empty. The portal's storage has all of them.",
    )
    MAX_SNAPSHOTS_BYTES = Setting(
        20 * 2**30,
        "Maximum size of the copies of snapshots in that folder. Those that were not used for the "
        "longest time are deleted, and copied from the storage again when they are needed.",
    )


conf = AnalysisSettings()
