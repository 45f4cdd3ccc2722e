"""Settings of loading files."""

from collections.abc import Sequence
from datetime import timedelta

from ...conf import Setting, Settings

#: A name or an IPv4 address, an IPv6 one in brackets, either with a port; or an IPv6 one alone.
_SERVER_NAME = r"([\w.-]+|\[[0-9a-fA-F:.%]+\])(:[0-9]{1,5})?|[0-9a-fA-F:.%]+"


class FilesSettings(Settings):
    LOAD_CONNECTIONS = Setting(
        2,
        "Connections over which a load fills its table and makes its indexes in parallel, in"
        " addition to the two that it always has: one for its statements and one for its locks."
        " Each uses a core of the database server. With `1`, with a file of at most 10,000 rows (of"
        " a wide table, 100,000 cells), and in a transaction of the caller, the load uses only the"
        " connection of its statements.",
    )
    READ_CPU_SECONDS = Setting(
        8.0,
        "Seconds of processor time for reading any file, for a load or a preview, in [a separate"
        " process](../decisions/0023-reading-in-a-child-process.md), and again for each 32 MB of"
        " the unpacked file. A slow machine may need more.",
    )
    MAX_UPLOAD_BYTES = Setting(
        1 * 2**30,
        "Maximum size of a file that is uploaded in the admin or by the API, or fetched from a URL,"
        " both with and without its content coding. A larger file is refused before it is received,"
        " or at the first byte over the limit. A file path given to the command has no limit.",
    )
    LINKED_FORMATS = Setting[Sequence[str]](
        (),
        "Formats of resources, such as `CSV`, whose table is loaded from their `url` when a client"
        " sets it, as with `resource_create`, by the rules of [loading from a"
        " URL](../how-to/load-files.md#from-a-url). For others, `datapusher_submit` loads it.",
    )
    MAX_UNPACKED_BYTES = Setting(
        10 * 2**30,
        "Maximum size of the unpacked content of a file: the content of a zip, a gzip or a"
        " workbook, and the values of JSON, Parquet and sheets as texts. It is written into the"
        " temporary folder of the process that loads. DuckDB's temporary files there have the same"
        " limit.",
    )
    FETCH_PRIVATE_HOSTS = Setting[Sequence[str]](
        (),
        "Servers without a public address from which files may be fetched:"
        ' `"files.example.internal"`, or with a port, `"10.0.0.5:8080"`, for that port only. Every'
        " user who may load by URL can then read everything that such a server serves. See [load"
        " files](../how-to/load-files.md#from-a-url).",
        pattern=_SERVER_NAME,
    )
    UPLOAD_RETENTION = Setting(
        timedelta(days=7),
        "Time for which the upload of a failed or cancelled load is kept, so that it can be"
        " retried. The same applies to an unused draft, and to the records that the load of a user"
        " has replaced, which can be [published again](../how-to/load-files.md#take-a-load-back)."
        " [`datastore_cleanup`](commands.md#datastore_cleanup) and the next load of the resource"
        " delete older ones.",
        minimum=timedelta(0),
    )
    MAX_DOWNLOADS_BYTES = Setting(
        5 * 2**30,
        "Maximum size of all [stored downloads](dump.md#stored-files) together, and of one of them"
        " while it is made. Those that were asked for longest ago are deleted. With `0` none is"
        " stored.",
        minimum=0,
    )
    DOWNLOADS_SENT_BY = Setting(
        "",
        "What sends stored downloads. Empty: the app. A path, such as `/downloads/`: nginx, by"
        " [`X-Accel-Redirect`](../how-to/deploy.md#stored-downloads) to that path and the name in"
        " the storage. `redirect`: the storage itself, at the address that its `url()` returns, as"
        " a signed one of S3.",
        pattern="redirect|/([^/]+/)*",
    )
    TASKS_BACKEND = Setting(
        "default",
        "The alias in `TASKS` of the backend that [runs loads](../how-to/deploy.md#the-worker).",
    )
    TASKS_QUEUE = Setting("default", "The queue of that backend for loads.")


conf = FilesSettings()
