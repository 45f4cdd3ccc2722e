"""How a load looks: its state in colour, how far it is, how long it will take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, ngettext

from ..conf import conf
from ..loading.jobs.workers import worker_command
from ..models import Load, LoadState, Resource

#: A worker that is running and has nothing else to do takes a load within seconds.
NOTICE_AFTER = timedelta(seconds=30)

#: What a load knows and no list shows.
UNSHOWN = ("notices", "options", "preview", "profiles", "value_counts")

_TONES = {
    LoadState.READY: "good",
    LoadState.UNCHANGED: "good",
    LoadState.FAILED: "bad",
    LoadState.CANCELLED: "quiet",
    LoadState.DRAFT: "quiet",
}


def badge(load: Load) -> SafeString:
    """Show the state in its colour."""
    return format_html(
        '<span class="datastore-badge datastore-badge-{}" data-datastore-state>{}</span>',
        _tone(load),
        load.get_state_display(),
    )


def live(load: Load) -> SafeString:
    """Show the state and, until the load is over, its progress; ``load_progress.js`` updates it."""
    if load.is_finished or load.state == LoadState.DRAFT:
        return badge(load)
    return format_html(
        '<span class="datastore-live" data-datastore-load="{}" data-datastore-progress="{}">'
        '{} <progress max="100" aria-label="{}"{}></progress>'
        " <span data-datastore-brief>{}</span></span>",
        load.pk,
        reverse("admin:datastore_search_load_progress"),
        badge(load),
        gettext("Progress"),
        "" if load.percentage is None else format_html(' value="{}"', load.percentage),
        brief(load),
    )


def progress_of(load: Load) -> dict[str, Any]:
    """Say how far a load is, as what ``load_progress.js`` takes."""
    return {
        "state": load.state,
        "label": load.get_state_display(),
        "tone": _tone(load),
        "percentage": load.percentage,
        "text": advance(load),
        "brief": brief(load),
        "finished": load.is_finished or (load.state == LoadState.DRAFT and bool(load.preview)),
    }


def untaken(load: Load) -> str:
    """Say that no worker has taken what waits for one, and how to start one; nothing until then."""
    waited = load.untaken_for
    if waited is None or waited < NOTICE_AFTER or load.cancel_requested_at:
        return ""
    said = gettext("No worker has taken this for %(time)s: none is running, or all are busy.")
    if command := worker_command():
        hint = gettext("Start one: %(command)s") % {"command": command}
    else:
        hint = gettext("Start one for the backend “%(backend)s”.") % {"backend": conf.TASKS_BACKEND}
    return f"{said % {'time': roughly(waited)}} {hint}"


def advance(load: Load) -> str:
    """Say how many records are written, and how far the load is, as far as it is known."""
    if waiting := untaken(load):
        return waiting
    if not load.rows_total or load.state != LoadState.COPYING or load.cancel_requested_at:
        return brief(load)
    written = gettext("%(done)s of %(total)s records") % {
        "done": grouped(load.rows_written),
        "total": grouped(load.rows_total),
    }
    return " · ".join(filter(None, [written, brief(load)]))


def brief(load: Load) -> str:
    """Say how far a load is and how long the rest takes, as far as it is known."""
    if load.cancel_requested_at and not load.is_finished:
        return gettext("is being cancelled")
    if load.state == LoadState.QUEUED and load.started_at:
        return gettext("waits for another load of the resource")
    if load.state == LoadState.QUEUED and untaken(load):
        return gettext("waits for a worker")
    said = []
    if load.percentage is not None:
        said.append(gettext("%(percentage)s %%") % {"percentage": load.percentage})
    if load.remaining is not None:
        said.append(gettext("%(time)s left") % {"time": roughly(load.remaining)})
    return " · ".join(said)


def records_of(load: Load) -> str:
    """Say how many records were loaded."""
    return grouped(load.rows) if load.state == LoadState.READY else "–"


def bad_rows_of(load: Load) -> str:
    """Say how many rows could not be loaded."""
    return grouped(load.row_error_count) if load.row_error_count else "–"


def took(load: Load) -> str:
    """Say how long a load took, from when a process began with it."""
    return (
        roughly(load.finished_at - (load.started_at or load.created_at))
        if load.finished_at
        else "–"
    )


def address_of(resource: Resource) -> str | None:
    """Give the address of the data page, if there is something on it and the portal has it."""
    if not resource.current_load_id:
        return None
    try:
        return reverse("datastore_search:resource", args=[resource.pk])
    except NoReverseMatch:
        return None


def roughly(time: timedelta) -> str:
    """Say a time as people would, in one unit."""
    if time >= timedelta(minutes=1):
        now = timezone.now()
        return timesince(now - time, now, depth=1)
    seconds = max(1, round(time.total_seconds()))
    return ngettext("%(count)s second", "%(count)s seconds", seconds) % {"count": seconds}


def grouped(number: int) -> str:
    """Write a number as the reader's language does."""
    return str(number_format(number, force_grouping=True))


def _tone(load: Load) -> str:
    return _TONES.get(LoadState(load.state), "busy")
