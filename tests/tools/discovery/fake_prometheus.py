"""A Prometheus that holds what a test says: series by metric, each with its labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from revelio.errors import SourceError

Labels = Mapping[str, str]


class FakePrometheus:
    """Answers what discovery asks. ``series`` are label sets by metric name."""

    def __init__(self, series: Mapping[str, Sequence[Labels]], *, scrape: str = "15s") -> None:
        self.series = series
        self.scrape = scrape
        self.types: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.refused: set[str] = set()
        self.clock: float | None = None

    def get(self, path: str, params: Mapping[str, str]) -> object:
        """The HTTP API's ``GET``."""
        self.asked.append(path)
        if path in self.refused:
            raise SourceError("prometheus", "answered HTTP 404")
        if path.endswith("/buildinfo"):
            return {"status": "success", "data": {"version": "2.42.0"}}
        if path.endswith("/__name__/values"):
            return {"status": "success", "data": sorted(self.series)}
        if path.endswith("/config"):
            return {"data": {"yaml": f"global: {{scrape_interval: {self.scrape}}}\nscrape_configs: [{{job_name: a}}]"}}
        if path.endswith("/metadata"):
            return {"data": {name: [{"type": kind} for kind in kinds] for name, kinds in self.types.items()}}
        raise AssertionError(path)

    def post(self, path: str, form: Mapping[str, str]) -> object:
        """A query: counts of series by labels, some in one request."""
        query = form["query"]
        self.asked.append(query)
        if query == "time()" and self.clock is not None:
            return {"status": "success", "data": {"resultType": "scalar", "result": [self.clock, f"{self.clock}"]}}
        rows: list[dict[str, object]] = []
        for by, metric, convention in re.findall(r'label_replace\(count by \(([^)]*)\) \((\w+)[^)]*\), "\w+", "([\w-]+)"', query):
            labels = by.split(", ")
            groups = Counter(tuple((k, s[k]) for k in labels if s.get(k)) for s in self.series.get(metric, ()))
            rows += [_row(dict(group) | {"revelio_convention": convention}, n) for group, n in groups.items()]
        if query.startswith("count by (job)"):
            metrics = re.findall(r'__name__=~"([^"]+)"', query)[0].split("|")
            jobs = Counter(s["job"] for m in metrics for s in self.series.get(m, ()) if "job" in s)
            rows = [_row({"job": job}, n) for job, n in jobs.items()]
        if query.startswith("count by (__name__)"):
            rows = [_row({"__name__": name}, len(found)) for name, found in self.series.items()]
        if query.endswith("[5m]"):
            points = [[float(t), "1"] for t in range(0, 300, 30)]
            return {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": points}]}}
        return {"status": "success", "data": {"resultType": "vector", "result": rows}}


def _row(labels: Mapping[str, str], count: int) -> dict[str, object]:
    return {"metric": dict(labels), "value": [0, str(count)]}
