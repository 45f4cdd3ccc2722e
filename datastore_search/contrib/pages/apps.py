"""The app that shows pages."""

from __future__ import annotations

from datastore_search.apps import ContribAppConfig


class PagesConfig(ContribAppConfig):
    """Pages of resources, records, charts and maps."""

    default = True
    name = "datastore_search.contrib.pages"
    label = "datastore_search_pages"
    verbose_name = "datastore_search: pages"

    def register(self) -> None:
        """Add the addresses, the pages of errors, and GeoJSON."""
        from datastore_search.downloads import formats
        from datastore_search.web import routes
        from datastore_search.web.errors import error_pages

        from .maps.geojson import write_geojson
        from .page import render_error_page
        from .table.download_failures import explain_failure

        routes.register("datastore_search.contrib.pages.urls")
        error_pages.render, error_pages.explain = render_error_page, explain_failure
        formats.register(
            formats.DumpFormat(
                "geojson", "GeoJSON", "application/geo+json", write_geojson, needs_places=True
            )
        )
