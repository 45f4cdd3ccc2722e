"""The app that shows pages."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps

from ...apps import ContribAppConfig
from ...contributions import Contribution


class PagesConfig(ContribAppConfig):
    """Pages of resources, records, charts and maps."""

    def contribute(self) -> Iterator[Contribution]:
        from ...downloads.formats import DumpFormat, formats
        from ...downloads.parameters import DumpParameters
        from ...web.errors import ErrorPages, error_pages
        from ...web.routes import routes
        from .maps.geojson import PARAMETERS, write_geojson
        from .page import render_error_page
        from .sections import sections
        from .table.accents import WITHOUT_ACCENTS
        from .table.download_failures import explain_failure

        yield routes.entries(f"{self.name}.urls")
        yield error_pages.entries(ErrorPages(render_error_page, explain_failure))
        yield formats.entries(
            DumpFormat(
                "geojson", "GeoJSON", "application/geo+json", write_geojson, needs_places=True
            )
        )
        yield DumpParameters.entries(**PARAMETERS)
        yield sections.entries(WITHOUT_ACCENTS)
        if apps.is_installed("datastore_search.contrib.catalogue"):
            from .catalogue.sections import FACTS, ORIGIN, STRUCTURED_DATA

            yield sections.entries(FACTS, ORIGIN, STRUCTURED_DATA)
        if apps.is_installed("datastore_search.contrib.analysis"):
            from .facets.sections import DID_YOU_MEAN, FACETS

            yield sections.entries(FACETS, DID_YOU_MEAN)
