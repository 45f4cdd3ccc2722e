"""Find the command of a worker that runs queued loads."""

from __future__ import annotations

from django.conf import settings

from ...conf import conf

#: The command of each backend of tasks, by its module.  That of the database was part of
#: django-tasks before it became a package of its own.
_COMMANDS = {
    "django_tasks_db": "db_worker",
    "django_tasks.backends.database": "db_worker",
    "django_tasks_rq": "rqworker",
    "django_tasks.backends.rq": "rqworker",
}


def find_worker_command() -> str:
    """Find the command that starts a worker for loads; empty where none is known."""
    alias, queue = conf.TASKS_BACKEND, conf.TASKS_QUEUE
    path = getattr(settings, "TASKS", {}).get(alias, {}).get("BACKEND", "")
    command = next((_COMMANDS[name] for name in _COMMANDS if path.startswith(f"{name}.")), "")
    if command == "db_worker":
        words = ["--queue-name", queue] if queue != "default" else []
        words += ["--backend", alias] if alias != "default" else []
        return " ".join(["manage.py", command, *words])
    return f"manage.py {command} {queue}" if command else ""
