"""An evaluation as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from revelio.training.evaluation.listening import Listening
from revelio.training.evaluation.results import ControlFigures, Evaluation, FaultFigures, KindFigures
from revelio.training.evaluation.runs import MAX_RUNS, RunsCurve

_SHARES = (
    ("top-1", "top1"),
    ("top-3", "top3"),
    ("top-5", "top5"),
    ("any 1", "accepted_top1"),
    ("any 3", "accepted_top3"),
    ("template", "template_top1"),
    ("place", "place_top1"),
)


def tables(evaluation: Evaluation) -> Iterator[Table]:
    """One table per split; methods are rows."""
    methods = evaluation.by_method
    for split in evaluation.splits:
        figures = {name: by_split[split] for name, by_split in methods.items() if split in by_split}
        faults = {name: f for name, f in figures.items() if isinstance(f, FaultFigures)}
        controls = {name: f for name, f in figures.items() if isinstance(f, ControlFigures)}
        if faults:
            yield _fault_table(split, faults)
        if controls:
            yield _control_table(split, controls)
    if evaluation.runs:
        yield _runs_table(evaluation.runs)
    if evaluation.kinds:
        yield _kinds_table(evaluation.kinds)


def _runs_table(runs: dict[str, RunsCurve]) -> Table:
    grid = _grid("share of incidents whose cause is shown within so many runs")
    for heading in ("split", "list", *(str(n) for n in range(1, MAX_RUNS + 1))):
        grid.add_column(heading, justify="left" if heading in ("split", "list") else "right")
    for split, curve in runs.items():
        for name, shares in (("fixed", curve.fixed), ("re-ranked", curve.reranked)):
            grid.add_row(Text(split), Text(name), *(Text(f"{share:.3f}") for share in shares))
    return grid


def _kinds_table(kinds: tuple[KindFigures, ...]) -> Table:
    grid = _grid("fault kinds that are not always first")
    for heading in ("split", "kind", "incidents", "top-1", "top-3", "mistaken for"):
        grid.add_column(heading, justify="left" if heading in ("split", "kind", "mistaken for") else "right")
    for row in kinds:
        if row.top1 < 1.0:
            shares = (f"{row.top1:.3f}", f"{row.top3:.3f}")
            grid.add_row(Text(row.split), Text(row.kind), Text(str(row.incidents)), *map(Text, shares), Text(row.mistaken_for))
    return grid


def _fault_table(split: str, methods: dict[str, FaultFigures]) -> Table:
    first = next(iter(methods.values()))
    left_out = f", {first.left_out} left out without a proven query that shows the cause" if first.left_out else ""
    grid = _grid(f"{split}: {first.incidents} incidents, {first.examples} reports{left_out}")
    for heading in ("method", *(h for h, _ in _SHARES), "MRR", "rank", "conf.", "ECE", "by chance", "failed"):
        grid.add_column(heading, justify="left" if heading == "method" else "right")
    for name, figures in methods.items():
        shares = []
        for _, key in _SHARES:
            share = f"{getattr(figures, key):.3f}"
            if key == "top1":
                low, high = figures.ci95[key]
                share += f" [{low:.2f}, {high:.2f}]"
            shares.append(share)
        rest = (
            f"{figures.mrr:.3f}",
            f"{figures.average_rank:.1f}",
            f"{figures.confidence:.3f}",
            f"{figures.ece:.3f}",
            f"{figures.ece_chance:.3f}",
            str(figures.failed),
        )
        grid.add_row(Text(name), *(Text(x) for x in (*shares, *rest)))
    return grid


def _control_table(split: str, methods: dict[str, ControlFigures]) -> Table:
    first = next(iter(methods.values()))
    grid = _grid(f"{split}: {first.incidents} incidents without a fault, {first.examples} reports")
    for heading in ("method", "AUROC of abstaining", "abstained", "failed"):
        grid.add_column(heading, justify="left" if heading == "method" else "right")
    for name, figures in methods.items():
        low, high = figures.ci95.get("auroc", (float("nan"), float("nan")))
        score = "–" if figures.auroc is None else f"{figures.auroc:.3f} [{low:.2f}, {high:.2f}]"
        grid.add_row(Text(name), Text(score), Text(f"{figures.abstained:.3f}"), Text(str(figures.failed)))
    return grid


def _grid(title: str) -> Table:
    return Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="bold")


def listening_table(found: Sequence[Listening]) -> Table:
    """What the report does, a set of incidents a row."""
    grid = _grid("what the report decides")
    headings = ("incidents", "n", "top-1", "95 %", "top-3", "without report", "other report", "report worth", "follows either")
    for heading in (*headings, "nonsense changes nothing", "confidence", "with nonsense"):
        grid.add_column(heading, justify="left" if heading == "incidents" else "right")
    for row in found:
        low, high = row.top1_ci95
        shares = (row.without_top1, row.other_top1, row.worth, row.follows, row.nonsense_same, row.confidence)
        cells = ["" if x is None else f"{x:.3f}" for x in (*shares, row.nonsense_confidence)]
        grid.add_row(row.name, str(row.incidents), f"{row.top1:.3f}", f"{low:.2f}-{high:.2f}", f"{row.top3:.3f}", *cells)
    return grid
