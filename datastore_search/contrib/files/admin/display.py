"""The state of a load as the admin shows it: a coloured badge, progress, remaining time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext, ngettext_lazy

from ....messages.texts import format_count, show_bidi_controls
from ..conf import conf
from ..models import RUNNING, Load, LoadState

#: An idle worker takes a load within seconds.
MIN_QUEUED_BEFORE_NOTICE = timedelta(seconds=30)

#: Large fields of a load that no page of the admin reads.
UNLISTED_FIELDS = ("notices", "options", "preview", "former")

#: The command of each backend of tasks, by its module; both were part of django-tasks before.
_COMMANDS = {
    "django_tasks_db": "db_worker",
    "django_tasks.backends.database": "db_worker",
    "django_tasks_rq": "rqworker",
    "django_tasks.backends.rq": "rqworker",
}

#: Django's ``timesince`` lacks some units in some languages.
_UNITS = (
    (timedelta(days=1), ngettext_lazy("%(count)s day", "%(count)s days", "count")),
    (timedelta(hours=1), ngettext_lazy("%(count)s hour", "%(count)s hours", "count")),
    (timedelta(minutes=1), ngettext_lazy("%(count)s minute", "%(count)s minutes", "count")),
    (timedelta(seconds=1), ngettext_lazy("%(count)s second", "%(count)s seconds", "count")),
)

_TONES: Mapping[str, str] = {
    LoadState.READY: "good",
    LoadState.UNCHANGED: "good",
    LoadState.FAILED: "bad",
    LoadState.CANCELLED: "quiet",
    LoadState.DRAFT: "quiet",
}


def render_badge(load: Load) -> SafeString:
    return format_html(
        '<span class="datastore-badge datastore-badge-{}" data-datastore-state>{}</span>',
        _TONES.get(load.state, "busy"),
        load.get_state_display(),
    )


@admin.display(description=_("source"), ordering="source")
def show_source(load: Load) -> str:
    return show_bidi_controls(load.source)


@admin.display(description=_("state"), ordering="state")
def render_progress(load: Load) -> SafeString:
    """Show the state and, until the load is over, its progress; ``load_progress.js`` updates it."""
    if load.is_finished or load.state == LoadState.DRAFT:
        return render_badge(load)
    return format_html(
        '<span class="datastore-live" data-datastore-load="{}" data-datastore-progress="{}">'
        '{} <progress max="100" aria-label="{}"{}></progress>'
        " <span data-datastore-brief>{}</span></span>",
        load.pk,
        reverse("admin:datastore_search_files_load_progress"),
        render_badge(load),
        gettext("Progress"),
        "" if load.percentage is None else format_html(' value="{}"', load.percentage),
        format_remaining(load),
    )


def describe_progress(load: Load) -> dict[str, Any]:
    """Describe the progress of a load for ``load_progress.js``."""
    return {
        "state": load.state,
        "label": load.get_state_display(),
        "tone": _TONES.get(load.state, "busy"),
        "percentage": load.percentage,
        "text": format_progress(load),
        "brief": format_remaining(load),
        "finished": load.is_finished or (load.state == LoadState.DRAFT and bool(load.preview)),
    }


def get_queue_notice(load: Load) -> str:
    """Explain that no worker takes the load, and how to start one; empty while it is normal."""
    waiting = load.untaken_for
    if waiting is None or waiting < MIN_QUEUED_BEFORE_NOTICE or load.cancel_requested_at:
        return ""
    notice = gettext("No worker has taken this for %(time)s: none is running, or all are busy.")
    alias, queue = conf.TASKS_BACKEND, conf.TASKS_QUEUE
    path = getattr(settings, "TASKS", {}).get(alias, {}).get("BACKEND", "")
    command = next((_COMMANDS[name] for name in _COMMANDS if path.startswith(f"{name}.")), "")
    if command == "db_worker":
        options = [("--queue-name", queue), ("--backend", alias)]
        command += "".join(f" {name} {value}" for name, value in options if value != "default")
    elif command:
        command += f" {queue}"
    if command:
        hint = gettext("Start one: %(command)s") % {"command": f"manage.py {command}"}
    else:
        hint = gettext("Start one for the backend “%(backend)s”.") % {"backend": alias}
    return f"{notice % {'time': format_rough_time(waiting)}} {hint}"


def format_progress(load: Load) -> str:
    """Write the numbers of records, the percentage and the remaining time that are known."""
    if notice := get_queue_notice(load):
        return notice
    is_waiting = load.state == LoadState.QUEUED and not load.started_at
    if is_waiting and not load.cancel_requested_at:
        running = Load.objects.filter(state__in=RUNNING).count()
        text = ngettext(
            "waits for a worker: %(count)s other load is running",
            "waits for a worker: %(count)s other loads are running",
            running,
        )
        return text % {"count": format_count(running)} if running else format_remaining(load)
    if not load.rows_total or load.state != LoadState.COPYING or load.cancel_requested_at:
        return format_remaining(load)
    written = gettext("%(done)s of %(total)s records") % {
        "done": format_count(load.rows_written),
        "total": format_count(load.rows_total),
    }
    return " · ".join(filter(None, [written, format_remaining(load)]))


def format_remaining(load: Load) -> str:
    """Write the percentage and the remaining time, if they are known, or why the load waits."""
    if load.cancel_requested_at and not load.is_finished:
        return gettext("is being cancelled")
    if load.state == LoadState.QUEUED and load.started_at:
        return gettext("waits for another load of the resource")
    if load.state == LoadState.QUEUED:
        return gettext("waits for a worker")
    parts = []
    if load.percentage is not None:
        parts.append(gettext("%(percentage)s%%") % {"percentage": load.percentage})
    if load.remaining is not None:
        parts.append(gettext("%(time)s left") % {"time": format_rough_time(load.remaining)})
    return " · ".join(parts)


@admin.display(description=_("records"), ordering="record_count")
def format_record_count(load: Load) -> str:
    return format_count(load.record_count) if load.state == LoadState.READY else "–"


@admin.display(description=_("bad rows"), ordering="row_error_count")
def format_bad_row_count(load: Load) -> str:
    return format_count(load.row_error_count) if load.row_error_count else "–"


@admin.display(description=_("took"))
def format_duration(load: Load) -> str:
    """Write how long a load took, from its start in a process."""
    if not load.finished_at:
        return "–"
    return format_rough_time(load.finished_at - (load.started_at or load.created_at))


def format_rough_time(time: timedelta) -> str:
    unit, text = next((each for each in _UNITS if time >= each[0]), _UNITS[-1])
    return text % {"count": max(1, time // unit)}
