"""VictoriaMetrics: Prometheus' API with a page of its own."""

from __future__ import annotations

from revelio.tools import links
from revelio.tools.prometheus.tool import Prometheus


class VictoriaMetrics(Prometheus):
    """The ``victoriametrics`` product. The version that it tells is that of the Prometheus that it stands for."""

    title = "VictoriaMetrics, as Prometheus"
    page = staticmethod(links.vmui_graph)
