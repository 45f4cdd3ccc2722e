"""Read a file as a load does, up to its records, in a process that is forked from this one."""

from __future__ import annotations

import json
import os
import signal
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

from datastore_search.contrib.files.formats import (
    delimited,
    geo,
    json as json_reader,
    parquet,
    workbooks,
)
from datastore_search.contrib.files.formats.child import read_file
from datastore_search.contrib.files.formats.staging import create_staging_area
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Load
from datastore_search.contrib.files.publishing.bad_rows import delete_bad_rows
from datastore_search.contrib.files.publishing.plan import build_plan
from datastore_search.contrib.files.publishing.rows import render_rows
from datastore_search.contrib.files.sources.limits import (
    ReadingLimits,
    find_shortage,
    is_file_too_large,
)
from datastore_search.contrib.files.types.options import LoadOptions
from datastore_search.models import Resource

#: A child that waits is ended after this time.
_TIMEOUT_SECONDS = 60

#: ``read_file`` imports them when it needs one, which would be in each fork.
PRELOADED = (delimited, geo, json_reader, parquet, workbooks)


def _read(path: Path, name: str, options: LoadOptions, folder: Path) -> str:
    """Read a file as a load does, up to the records, and describe the end."""
    try:
        limits = ReadingLimits(path.stat().st_size).enforce()
        with create_staging_area(folder, limits) as staging_area:
            table = read_file(path, options, staging_area, name=name)
            plan = build_plan(Load(), Resource(), table, options)
            delete_bad_rows(table)
            for batch in render_rows(table, plan.decisions):
                for _line, text in batch:
                    assert json.loads(text).keys() <= set(table.names), text
    except LoadFailed as failure:
        return failure.code
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is reported
        if find_shortage(error) or is_file_too_large(error):
            return "load.out_of_memory"
        return f"{type(error).__name__}\n{traceback.format_exc()}"
    return "read"


def read_in_fork(content: bytes, name: str, options: LoadOptions) -> str:
    """Read a content in a process of its own; return how it ended, an exception with its trace."""
    with TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        path, answer = folder / f"file{Path(name).suffix}", folder / "answer"
        path.write_bytes(content)
        (folder / "staging").mkdir()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            # A lock that another thread of this process held is never released in the child.
            signal.alarm(_TIMEOUT_SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say of a crash
            answer.write_text(_read(path, name, options, folder / "staging"))
            os._exit(0)
        _pid, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            # As ``process`` reports them.
            is_timeout = os.WTERMSIG(status) in {signal.SIGXCPU, signal.SIGALRM}
            return "load.reader_timeout" if is_timeout else "load.reader_crashed"
        return answer.read_text()
