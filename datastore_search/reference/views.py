"""The pages of the reference: an index, and a page for each action."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse

from ..api.envelope import ERROR_TYPES
from ..exceptions.requests import UnknownHelp
from ..html.links import find_search_path, reverse_in_locale
from ..html.views import PageView
from .code_spans import render_code_spans
from .errors import DESCRIPTIONS, build_example, list_statuses
from .examples import SURVEY
from .operations import DUMP, OPERATIONS, Operation, list_parameter_tables
from .operators import RULES, describe_operators
from .request_examples import build_shown_example, dump_json

#: Of an unknown action's name in a message.
MAX_SHOWN_NAME_LENGTH = 100

#: Conditions that show the forms of ``filters``.
_FILTERS = {"stage": ["active", "planned"], "budget": {"gte": 1000, "lt": 20000}}


class ReferencePage(PageView):
    """A page of the reference, which a portal without the API does not have."""

    def find_path_prefix(self) -> str:
        """
        Find the path in front of ``api/``, such as ``/vi/``.

        Raises: ``Http404`` if the portal has no API.
        """
        path = find_search_path(self.request)
        if not path:
            raise Http404
        return path.removesuffix("api/action/datastore_search")


class ReferenceView(ReferencePage):
    """The actions, and what they have in common."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """
        Show the index.

        Raises: ``Http404`` if the portal has no API.
        """
        prefix = self.find_path_prefix()
        errors = [
            {
                "status": code,
                "type": kind,
                "description": render_code_spans(str(DESCRIPTIONS[code])),
                "example": dump_json(build_example(code, prefix)),
            }
            for code, kind in ERROR_TYPES.items()
        ]
        context = {
            "operations": OPERATIONS.values(),
            "rules": [render_code_spans(str(rule)) for rule in RULES],
            "operators": describe_operators(),
            "filters": dump_json(_FILTERS),
            "errors": errors,
        }
        return self.render_page("reference.html", context, private=False)


class OperationReferenceView(ReferencePage):
    """One action, or the dump."""

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """
        Show the parameters, an example and the errors.

        Raises: ``UnknownHelp``; ``Http404`` if the portal has no API.
        """
        prefix = self.find_path_prefix()
        operation = OPERATIONS.get(name)
        if operation is None:
            raise UnknownHelp(action=name[:MAX_SHOWN_NAME_LENGTH])
        path = self._find_path(operation)
        tables = [
            (table.parent, [(row, render_code_spans(row.text)) for row in table.rows])
            for table in list_parameter_tables(operation)
        ]
        errors = {
            code: render_code_spans(str(DESCRIPTIONS[code]))
            for code in list_statuses(operation.methods[-1])
        }
        context = {
            "operation": operation,
            "methods": ", ".join(operation.methods),
            "path": path,
            "index_address": reverse_in_locale(request, "api-reference"),
            "tables": tables,
            "example": build_shown_example(operation, path, prefix),
            "errors": errors,
        }
        return self.render_page("reference_operation.html", context, private=False)

    def _find_path(self, operation: Operation) -> str:
        if operation.name == DUMP.name:
            return reverse_in_locale(self.request, "dump", SURVEY)
        return reverse_in_locale(self.request, "action-3", operation.name)
