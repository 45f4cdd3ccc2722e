"""Import Django's framework for tasks: from Django 6.0 on, and from django-tasks before."""

from typing import TYPE_CHECKING

import django

if TYPE_CHECKING or django.VERSION >= (6, 0):  # the package has the same names
    from django.tasks import task
    from django.tasks.backends.dummy import DummyBackend
    from django.tasks.exceptions import TaskException
else:
    from django_tasks import task
    from django_tasks.backends.dummy import DummyBackend

    try:
        from django_tasks.exceptions import TaskException
    except ImportError:  # before 0.9, which Wagtail 7.0 and 7.1 ask for
        from django_tasks.exceptions import InvalidTaskError as TaskException

__all__ = ["DummyBackend", "TaskException", "task"]
