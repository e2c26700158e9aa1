"""What came of the foreign applications: one row each, from the recorded incidents and today's model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.ranker.recommender import Recommender, load_recommender
from revelio.service.pipeline import answer_incident
from revelio.settings import Settings
from revelio.systems.incidents.exchange import Record, read_records
from tests.foreign.exposed import Exposed
from tests.foreign.recording import Figures, noted

ANSWERED = 5
"""Queries of an answer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One incident and what was answered: ``rank`` of the first query that shows its cause, None where no query does."""

    record: Record
    rank: int | None
    no_fault: bool
    empty: int
    first: tuple[str, ...]
    confidence: float
    """The probability of the first query."""

    @property
    def late(self) -> bool:
        """Whether it was asked about half an hour later."""
        return self.record.id.endswith("-late")


def ask(recommender: Recommender, record: Record, figures: Figures | None) -> Asked:
    """Rank the candidates of an incident for its first report."""
    answer = answer_incident(record.incident(), recommender, len(candidates(recommender.catalog, inventory(record.evidence))))
    grades = {(x.template, x.bindings): x.grade for x in record.labels if x.proven}
    ranks = [q.rank for q in answer.queries if grades.get((q.query.template.id, q.query.bindings)) == 3]
    silent = set(figures.empty) if figures else set()
    first = answer.queries[:ANSWERED]
    return Asked(
        record,
        min(ranks, default=None),
        answer.no_fault_likely,
        sum(q.query.id in silent for q in first),
        tuple(q.query.title for q in first),
        first[0].probability if first else 0.0,
    )


def read(folder: Path) -> list[Asked]:
    """Every recorded incident, asked."""
    recommender = load_recommender(Settings().model, bundled_catalog())
    figures = noted(folder)
    return [ask(recommender, r, figures.get(r.id)) for r in read_records(folder / "incidents")]


def row(name: str, title: str, asked: Sequence[Asked], figures: Iterable[Figures], seen: Exposed | None) -> str:
    """One application as a row in Markdown."""
    faults = [a for a in asked if a.record.fault and not a.late]
    shown = [a for a in faults if a.rank is not None]
    late = [a for a in asked if a.late and a.rank is not None]
    calm = [a for a in asked if not a.record.fault]
    own = list(figures)
    found = f"{len(seen.exposed) - len(seen.not_found)} of {len(seen.exposed)}" if seen else "-"
    cells = [
        title,
        found,
        f"{sum(len(f.empty) for f in own)} of {sum(f.candidates for f in own)}",
        f"{sum(a.empty for a in asked)} of {ANSWERED * len(asked)}",
        f"{_hits(shown, 1)} of {len(shown)}",
        f"{_hits(shown, 3)} of {len(shown)}",
        f"{fmean(a.confidence for a in shown):.2f}" if shown else "-",
        str(len(faults) - len(shown)),
        f"{_hits(late, 1)} and {_hits(late, 3)} of {len(late)}",
        f"{sum(not a.no_fault for a in calm)} of {len(calm)}",
        f"{median(f.requests for f in own):.0f}" if own else "-",
        f"{median(f.seconds for f in own):.1f}" if own else "-",
    ]
    return f"| {' | '.join(cells)} |"


COLUMNS = (
    "application",
    "signals found",
    "queries without data",
    "of those in answers",
    "cause first",
    "in first three",
    "mean probability of the first query",
    "cause not visible",
    "late: first and in first three",
    "healthy called a fault",
    "requests",
    "seconds",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def table(folder: Path, titles: dict[str, str]) -> str:
    """The table of all applications with incidents."""
    asked, figures = read(folder), noted(folder)
    path = folder / "applications.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    lines = [HEAD]
    for name, title in titles.items():
        own = [a for a in asked if a.record.system == name]
        seen = Exposed(**known[name]) if name in known else None
        if own:
            lines.append(row(name, title, own, (f for i, f in figures.items() if i.startswith(f"{name}-")), seen))
    lines.append(row("", "all", asked, figures.values(), None))
    return "\n".join(lines)


BEGIN, END = "<!-- python -m tests.foreign table --write docs/results.md -->", "<!-- end of that table -->"


def put_into(page: Path, told: str) -> None:
    """Put a table between its marks in a page; ``ValueError`` where they are not there."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{page} has no marks of this table")
    page.write_text(f"{before}{BEGIN}\n\n{told}\n\n{END}{after}", encoding="utf-8")


def _hits(asked: Iterable[Asked], most: int) -> int:
    return sum(a.rank is not None and a.rank <= most for a in asked)


def details(folder: Path) -> str:
    """A line for each incident: the rank of its cause and what came first instead."""
    lines = []
    for a in sorted(read(folder), key=lambda a: a.record.id):
        right = [f"{x.template} {dict(x.bindings)}" for x in a.record.labels if x.proven and x.grade == 3]
        lines.append(
            f"{a.record.id}: rank {a.rank}, no fault {a.no_fault}\n  first: {'; '.join(a.first[:3])}\n  right: {right[:4]}"
        )
    return "\n".join(lines)
