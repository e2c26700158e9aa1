"""Tools by name, bundled ones and those of plug-ins: the one place where the core knows implementations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pkgutil import resolve_name
from typing import cast

from revelio.catalog import ToolSpec
from revelio.catalog.plugins import announced, plugin
from revelio.errors import MissingExtraError
from revelio.settings import Backend
from revelio.support.extras import extras_for
from revelio.tools.base import Limits, Tool
from revelio.tools.plugin import PluginTool, probe_of
from revelio.tools.probe import Probe
from revelio.tools.unusable import UnusableTool

Factory = Callable[[ToolSpec, Backend, Limits], Tool]

TOOLS = {
    "prometheus": "revelio.tools.prometheus.tool:Prometheus",
    "jaeger": "revelio.tools.jaeger.tool:Jaeger",
    "elasticsearch": "revelio.tools.elasticsearch.tool:ElasticsearchLogs",
    "containers": "revelio.tools.containers.tool:Containers",
    "mysql": "revelio.tools.mysql.tool:Mysql",
    "postgres": "revelio.tools.postgres.tool:Postgres",
    "redis": "revelio.tools.redis.tool:Redis",
    "tcpdump": "revelio.tools.tcpdump.tool:Tcpdump",
}
"""Implementation by tool name, as ``module:class``: a backend's client library is loaded only where the tool is used."""

PRODUCTS = {
    "victoriametrics": "revelio.tools.prometheus.victoriametrics:VictoriaMetrics",
    "thanos": TOOLS["prometheus"],
    "mimir": TOOLS["prometheus"],
    "mariadb": TOOLS["mysql"],
    "opensearch": "revelio.tools.elasticsearch.opensearch:OpenSearch",
    "loki": "revelio.tools.loki.tool:Loki",
    "tempo": "revelio.tools.tempo.tool:Tempo",
    "kubernetes": "revelio.tools.kubernetes.tool:Kubernetes",
}
"""Implementation by product, of those that no tool is named after."""


PROBED = ("prometheus", "jaeger", "elasticsearch", "containers", "mysql", "postgres", "redis", "loki", "tempo", "kubernetes")
"""Packages of tools whose backends can be found."""


def probes() -> dict[str, Probe]:
    """How each product is found that can be, by its name."""
    modules = (import_module(f"revelio.tools.{package}.probe") for package in PROBED)
    bundled = {name: probe for module in modules for name, probe in module.PROBES.items()}
    return bundled | {one.name: probe for one in announced() if (probe := probe_of(one)) is not None}


def make_tool(
    spec: ToolSpec, backend: Backend, limits: Limits, product: str | None = None, name: str | None = None
) -> Tool | None:
    """The tool of that catalog entry for a backend of that product; None where the product has no implementation.

    ``product`` is what the tool is named after where it is not said, and ``name`` is the source's. Connects to nothing.
    Where the client library of its backend is not installed, the tool only shows its queries and says which extra is missing.
    """
    place = TOOLS.get(spec.name) if product in (None, spec.name) else PRODUCTS.get(product)
    source = replace(spec, name=name or spec.name)
    if place is None:
        plugged = plugin(spec.name)
        return PluginTool(plugged, source, backend, limits) if plugged else None
    try:
        with extras_for("this tool"):
            factory = cast(Factory, resolve_name(place))
    except MissingExtraError as error:
        return UnusableTool(source.name, str(error))
    return factory(source, backend, limits)
