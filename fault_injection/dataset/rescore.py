"""Rescores recorded series with the catalog as it is now, after a noise floor that was too low or too high was corrected."""

from __future__ import annotations

from dataclasses import replace

from fault_injection.campaigns.proof import healthy_scope
from revelio.catalog import Catalog
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.incidents.exchange import Record
from revelio.tools.base import Scope
from revelio.tools.prometheus.tool import strength
from revelio.tools.sample_series import verdict
from revelio.types import Query, RecordedResult

_FROM_SNAPSHOT = ("postgres", "redis")


def rescore(whole: Record, catalog: Catalog) -> tuple[RecordedResult, ...]:
    """The results of a run, which still have their series, with the signals that the catalog gives them now.

    One that would be present, or absent, as it was stays as it was recorded; so does what was told without series and what
    the catalog no longer asks.
    """
    scope = Scope(whole.system, whole.evidence.window, whole.evidence.baseline)
    templates = {t.id: t for t in catalog.templates}
    specs = {spec.name: spec for spec in catalog.tools}

    def signal(result: RecordedResult, within: Scope) -> float:
        template, series = templates[result.template], result.result.series
        spec = specs[template.tool]
        if template.tool in _FROM_SNAPSHOT:
            return verdict(Query(template, result.bindings), series, spec.metrics, within, template.tool).signal
        return strength(spec, template, series, within)

    def again(result: RecordedResult) -> RecordedResult:
        template = templates.get(result.template)
        if template is None or not result.result.series or template.tool not in ("prometheus", *_FROM_SNAPSHOT):
            return result
        now = signal(result, scope)
        if (now >= SIGNIFICANT) == (result.result.signal >= SIGNIFICANT):
            return result
        healthy = signal(result, healthy_scope(scope)) if now >= SIGNIFICANT else None
        return replace(result, result=replace(result.result, signal=now), healthy_signal=healthy)

    return tuple(map(again, whole.results))
