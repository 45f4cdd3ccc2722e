"""
The address of the MCP server, for a portal that wants one.

    i18n_patterns(path("", include("datastore_search.contrib.agents.urls")))
"""

from django.urls import path

from .views import AgentsView

app_name = "datastore_search_mcp"

urlpatterns = [path("datastore/mcp", AgentsView.as_view(), name="mcp")]
