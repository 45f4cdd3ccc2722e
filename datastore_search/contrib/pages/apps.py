"""The app that shows pages."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps

from ...apps import ContribAppConfig
from ...contributions import Contribution


class PagesConfig(ContribAppConfig):
    packages = {"babel": "pages"}

    def contribute(self) -> Iterator[Contribution]:
        from ...admin.parts import parts
        from ...api.actions import actions
        from ...downloads.formats import DumpFormat, formats
        from ...downloads.parameters import DumpParameters
        from ...web.addresses import routes
        from ...web.errors import ErrorPages, error_pages
        from .admin import views_of_resource
        from .first_view import SECTIONS as OF_VIEWS
        from .maps.geojson import PARAMETERS, write_geojson
        from .page import explain_failure, render_error_page
        from .sections import sections
        from .table import SECTIONS
        from .view_actions import view_actions

        yield routes.entries(f"{self.name}.urls")
        yield error_pages.entries(ErrorPages(render_error_page, explain_failure))
        yield formats.entries(
            DumpFormat(
                "geojson", "GeoJSON", "application/geo+json", write_geojson, needs_places=True
            )
        )
        yield DumpParameters.entries(**PARAMETERS)
        yield actions.entries(*view_actions)
        yield parts.entries(views_of_resource)
        yield sections.entries(*OF_VIEWS, *SECTIONS)
        if apps.is_installed("datastore_search.contrib.catalogue"):
            from .catalogue import SECTIONS as OF_CATALOGUE

            yield sections.entries(*OF_CATALOGUE)
        if apps.is_installed("datastore_search.contrib.analysis"):
            from .facets import SECTIONS as OF_ANALYSIS

            yield sections.entries(*OF_ANALYSIS)
