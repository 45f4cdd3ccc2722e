"""The app that shows pages."""

from __future__ import annotations

from django.apps import apps

from ...apps import ContribAppConfig


class PagesConfig(ContribAppConfig):
    """Pages of resources, records, charts and maps."""

    def register(self) -> None:
        """Add the addresses, the pages of errors, GeoJSON, and the sections of the data page."""
        from ...downloads import formats
        from ...downloads.parameters import DumpParameters
        from ...web import routes
        from ...web.errors import error_pages
        from . import sections
        from .maps.geojson import PARAMETERS, write_geojson
        from .page import render_error_page
        from .table.accents import WITHOUT_ACCENTS
        from .table.download_failures import explain_failure

        routes.register(f"{self.name}.urls")
        sections.register(WITHOUT_ACCENTS)
        error_pages.render, error_pages.explain = render_error_page, explain_failure
        if apps.is_installed("datastore_search.contrib.catalogue"):
            from .catalogue.sections import FACTS, ORIGIN, STRUCTURED_DATA

            sections.register(FACTS, ORIGIN, STRUCTURED_DATA)
        if apps.is_installed("datastore_search.contrib.analysis"):
            from .facets.sections import DID_YOU_MEAN, FACETS

            sections.register(FACETS, DID_YOU_MEAN)
        formats.register(
            formats.DumpFormat(
                "geojson", "GeoJSON", "application/geo+json", write_geojson, needs_places=True
            )
        )
        DumpParameters.add(**PARAMETERS)
