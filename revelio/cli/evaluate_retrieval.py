"""``revelio eval --retrieval``: what similar incidents and imported questions are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from revelio.cli.catalog import settings_catalog
from revelio.cli.engine import settings_with
from revelio.cli.output import StepBars, emit, table

if TYPE_CHECKING:
    from revelio.catalog import Catalog


def evaluate_retrieval(
    parts: Sequence[tuple[Path, Catalog | None]], model: Path | None, pairs: Path | None, encoder: Path | None, json: bool
) -> None:
    """Print the share of incidents whose nearest one had the same cause; with ``pairs`` also nDCG of texts and queries.

    Methods that use a report encoder are scored with that of the folder ``encoder`` as well.
    """
    from revelio.encoders.report import OnnxEncoder
    from revelio.ranker.artifact import REPORT_WEIGHTS, TOKENIZER, load_ranker
    from revelio.ranker.recommender import Recommender
    from revelio.retrieval import IncidentVectors
    from revelio.service.pipeline import answer_incident
    from revelio.systems.incidents.dataset import open_datasets
    from revelio.training.evaluation.retrieval import AMONG, found_queries, nearest_causes

    data, default = open_datasets(parts), settings_catalog()
    tools = data.all_tools(default)
    recommender = Recommender(load_ranker(settings_with(model).model, tools), tools)
    ranker = recommender.ranker
    other = OnnxEncoder(encoder / REPORT_WEIGHTS, encoder / TOKENIZER) if encoder else None
    with StepBars() as bars:
        bars.report("find queries", 0, 1)
        found = found_queries(pairs, ranker.text, other) if pairs else ()
        bars.report("find queries", 1, 1)
        others = IncidentVectors(other, ranker.encoder.noise) if other else None
        nearest = nearest_causes(
            data, default, lambda i: answer_incident(i, recommender), recommender.incident_vectors, bars.report, others
        )
    if json:
        emit({"nearest_cause": [asdict(one) for one in nearest], "text_to_query": [asdict(one) for one in found]})
        return
    by = {(n.split, n.method, n.among): n for n in nearest}
    rows = []
    for split, method in sorted(dict.fromkeys((n.split, n.method) for n in nearest), key=lambda pair: pair[0]):
        of_all = by[split, method, "all"]
        shares = [_share(by[split, method, among].same_cause) for among in AMONG]
        rows.append((split, method, of_all.incidents, *shares, _interval(of_all.ci95)))
    columns = ("split", "method", "incidents", *AMONG, "all, 95 %")
    table("Nearest past incident: share with the same cause", columns, rows, numbers=range(2, 7))
    if found:
        figures = [(f.part, f.method, f.texts, f.queries, _share(f.ndcg10)) for f in found]
        table("Texts and their queries", ("part", "method", "texts", "queries", "nDCG@10"), figures, numbers=range(2, 5))


def _share(value: float) -> str:
    return f"{value:.3f}"


def _interval(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.2f}-{interval[1]:.2f}"
