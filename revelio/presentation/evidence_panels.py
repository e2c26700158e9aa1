"""The panels that draw a result, chosen by its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from revelio.presentation.blocking import tree
from revelio.presentation.cells import numeric
from revelio.presentation.charts import charts, compared
from revelio.presentation.comparisons import groups
from revelio.presentation.facts.summaries import summary_of
from revelio.presentation.panels import EvidencePanels, Panel, Table
from revelio.presentation.timelines import timeline
from revelio.presentation.waterfalls import waterfall
from revelio.support.anomaly import SIGNIFICANT
from revelio.types import Evidence, Result


def evidence_panels(result: Result, evidence: Evidence) -> EvidencePanels:
    """The panels of a query that was run in the window of the evidence."""
    said = summary_of(result, evidence) if result.error is None else ""
    return EvidencePanels(
        summary=said or _summary(result, evidence),
        reason="" if said else _reason(result),
        signal=result.signal,
        significant=result.signal >= SIGNIFICANT,
        panels=tuple(_panels(result, evidence)),
        truncated=result.truncated,
        took_ms=result.took_ms,
        error=result.error,
    )


def _summary(result: Result, evidence: Evidence) -> str:
    """The summary, with the figures that the table below it shows, also for recordings of versions that chose others."""
    first, semicolon, rest = result.summary.partition(";")
    if not result.series or " now, " not in first or result.series[0].unit == "versions":
        return result.summary
    return compared(result.series, evidence.baseline, evidence.window) + semicolon + rest


def _reason(result: Result) -> str:
    """Why the score is what it is; "" where the summary says it. Recordings of older versions count spreads, which are σ."""
    told = re.sub(r"(\S+) is ([\d.,]+) spreads from its baseline", r"Peak deviation \2σ from baseline", result.reason)
    return told if told != result.summary else ""


def _panels(result: Result, evidence: Evidence) -> Iterator[Panel]:
    yield from charts(result.series, evidence.baseline, evidence.window)
    found = [panel for panel in (tree(result), groups(result, evidence), timeline(result, evidence)) if panel is not None]
    yield from found
    trace = waterfall(result.spans)
    if trace is not None:
        yield trace
    if result.rows:
        yield _table(result, redundant=bool(found))


def _table(result: Result, *, redundant: bool) -> Table:
    width = max([len(result.columns), *(len(row) for row in result.rows)])
    rows = tuple((*row, *(None,) * (width - len(row))) for row in result.rows)
    columns = (*result.columns, *("",) * (width - len(result.columns)))
    return Table(columns, rows, tuple(numeric(row[i] for row in rows) for i in range(width)), redundant)
