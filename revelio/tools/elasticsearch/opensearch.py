"""OpenSearch: Elasticsearch's search with a page of its own."""

from __future__ import annotations

from revelio.tools import links
from revelio.tools.base import Scope
from revelio.tools.elasticsearch.store import OpenSearchStore
from revelio.tools.elasticsearch.tool import ElasticsearchLogs
from revelio.tools.placeholders import Tree
from revelio.types import Window


class OpenSearch(ElasticsearchLogs):
    """The ``opensearch`` product."""

    title = "OpenSearch"
    store = OpenSearchStore

    def page(self, wanted: Tree, scope: Scope, whole: Window) -> str | None:
        """Discover of OpenSearch Dashboards, with the index pattern that ``data_view`` names, else the default one."""
        if isinstance(wanted, str):  # ES|QL
            return None
        return links.dashboards_filter(self.backend.link, self.backend.data_view, wanted, whole)
