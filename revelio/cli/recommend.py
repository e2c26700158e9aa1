"""``revelio recommend``: the ranked queries for a report."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import IncidentOption, ModelOption, SystemOption, choose_place, open_workbench
from revelio.cli.output import Json, console, emit

if TYPE_CHECKING:
    from rich.console import RenderableType

    from revelio.types import Evidence, RankedQuery, Recommendation

_BAR = 20


def recommend(
    text: Annotated[str, typer.Argument(help="What a user noticed, or - to read it from standard input.")] = "",
    incident: IncidentOption = None,
    system: SystemOption = None,
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="How many queries.")] = 5,
    run: Annotated[bool, typer.Option("--run", help="Run each query and show its evidence.")] = False,
    model: ModelOption = None,
    json: Json = False,
) -> None:
    """Rank the debugging queries most likely to show the root cause.

    With --incident and no TEXT, the incident's own first report is taken.

    \b
    Examples:
      revelio recommend "checkout takes ages since lunch" --system shop
      revelio recommend "cart is empty after login" --system shop -k 3 --run
      revelio recommend --incident shop-1a2b3c4d5e --run
      pbpaste | revelio recommend - --json
    """
    bench = open_workbench(model)
    report = sys.stdin.read() if text == "-" else text
    place = choose_place(bench, system, incident)
    if incident and not report:
        report = bench.incidents.get(incident).incident().report
    answer = bench.recommend(report, system=place[0], incident=place[1], k=k, run=run)
    if json:
        from revelio.presentation import recommendation_json

        emit(recommendation_json(answer.incident.id, answer, recorded=incident))
        return
    screen = console()
    for part in _page(answer, recorded=bool(incident)):
        screen.print(part)


def _page(answer: Recommendation, *, recorded: bool) -> list[RenderableType]:
    from rich.text import Text

    incident = answer.incident
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(incident.opened_at))
    source = f"recorded incident {incident.id}" if recorded else "live"
    parts: list[RenderableType] = [
        Text(f"{incident.system} · {source} · {when} · model {answer.model} · {answer.took_ms:.0f} ms", "dim"),
        Text(f"Probability that nothing here points at a fault: {answer.abstain:.0%}", "yellow" if answer.abstain >= 0.5 else ""),
    ]
    for name in answer.degraded:
        parts.append(Text(f"{name} did not answer: what it would show is not in this ranking", "bold yellow"))
    if not answer.queries:
        parts.append(
            Text("No query can be asked here: the inventory is empty. `revelio doctor` says which backends answer.", "bold")
        )
    for ranked in answer.queries:
        parts += [Text(""), *_card(ranked, incident.evidence)]
    return parts


def _card(ranked: RankedQuery, evidence: Evidence) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    from revelio.types import fill

    filled = round(ranked.probability * _BAR)
    head = Text.assemble(
        (f"{ranked.rank:>2}. ", "bold"),
        ("█" * filled, "green"),
        ("░" * (_BAR - filled), "dim"),
        f" {ranked.probability:>4.0%}  ",
        (f"{ranked.query.title}", "bold"),
        (f"  [{ranked.query.template.tool}]", "cyan"),
    )
    body: list[RenderableType] = []
    if ranked.query.template.shows:
        body.append(Text(fill(ranked.query.template.shows, ranked.query.bindings)))
    for factor in ranked.factors:
        if factor.because:
            body.append(Text(f"{factor.name} {math.exp(factor.log_probability):.0%}: {'; '.join(factor.because)}", "dim"))
    if ranked.text:
        body.append(Text(ranked.text, "green"))
    if ranked.link:
        body.append(Text(ranked.link, "blue"))
    body.append(Text(f"revelio run {ranked.query.id}", "dim"))
    if ranked.result is not None:
        from revelio.cli.evidence import evidence_view

        body.append(evidence_view(ranked.result, evidence))
    return [head, *(Padding(part, (0, 0, 0, 4)) for part in body)]
