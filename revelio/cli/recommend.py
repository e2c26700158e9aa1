"""``revelio recommend``: the ranked queries for a report."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import (
    AtOption,
    IncidentOption,
    ModelOption,
    SinceOption,
    SystemOption,
    WindowOption,
    asked_time,
    choose_place,
    open_service,
)
from revelio.cli.output import Json, console, emit

if TYPE_CHECKING:
    from rich.console import Console

    from revelio.similar_incidents import SimilarIncident
    from revelio.types import Evidence, RankedQuery, Recommendation

_BAR = 20
_INDENT = (0, 0, 0, 4)


def recommend(
    text: Annotated[str, typer.Argument(help="What a user noticed, or - to read it from standard input.")] = "",
    incident: IncidentOption = None,
    system: SystemOption = None,
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="How many queries.")] = 5,
    run: Annotated[bool, typer.Option("--run", help="Run each query and show its evidence.")] = False,
    since: SinceOption = "",
    at: AtOption = "",
    window: WindowOption = "",
    similar: Annotated[bool, typer.Option("--similar", help="Also show past incidents like this one, with causes.")] = False,
    model: ModelOption = None,
    json: Json = False,
) -> None:
    """Rank the debugging queries most likely to show the root cause.

    With --incident and no TEXT, the incident's own first report is taken.

    \b
    Examples:
      revelio recommend "checkout takes ages since lunch" --system shop
      revelio recommend "cart is empty after login" --system shop -k 3 --run
      revelio recommend "orders are stuck" --since 14:20
      revelio recommend "cart was empty" --at "yesterday 18:05" --window 20m
      revelio recommend --incident shop-1a2b3c4d5e --run
      revelio recommend "cart is empty after login" --system shop --similar
      pbpaste | revelio recommend - --json
    """
    service = open_service(model)
    report = sys.stdin.read() if text == "-" else text
    place = choose_place(service, system, incident)
    if incident and not report:
        report = service.incidents.get(incident).incident().report
    from revelio.recommend_request import RecommendRequest

    asked = asked_time(since, at, window)
    zone = datetime.now().astimezone().tzinfo
    answer = service.rank(RecommendRequest(report, *place, k=k, run=run, time=asked, zone=zone))
    past = service.similar_incidents.find(answer) if similar else None
    service.close()
    if json:
        from revelio.presentation import recommendation_json

        view = recommendation_json(answer.incident.id, answer, recorded=incident, panels=True).model_dump(mode="json")
        emit(view if past is None else view | {"similar": [asdict(one) for one in past]})
        return
    _show(console(), answer, recorded=bool(incident))
    if past is not None:
        _show_similar(console(), past)


def _show_similar(screen: Console, past: Sequence[SimilarIncident]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    screen.print()
    screen.print(Text("Similar incidents" if past else "No similar incident with a known cause", "bold"))
    for one in past:
        when = time.strftime("%Y-%m-%d", time.localtime(one.saved_at))
        screen.print(Text(f"  {one.similarity:.2f}  {one.system} · {when} · {' '.join(one.report.split())[:120]}"))
        for label, words in (("Cause", one.cause), ("Shown by", f"{one.query}  [{one.tool}]" if one.query else "")):
            if words:
                screen.print(Padding(Text(f"{label}: {words}"), (0, 0, 0, 8)))
        for line in one.query_text.splitlines():
            screen.print(Text(f"        {line}", "green"), soft_wrap=True)


def _show(screen: Console, answer: Recommendation, *, recorded: bool) -> None:
    from rich.text import Text

    from revelio.presentation import time_lines

    incident = answer.incident
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(incident.opened_at))
    source = f"recorded incident {incident.id}" if recorded else "live"
    screen.print(Text(f"{incident.system} · {source} · {when} · model {answer.model} · {answer.took_ms:.0f} ms", "dim"))
    no_fault = f"Probability of no fault: {answer.no_fault_probability:.0%}"
    screen.print(Text(no_fault, "bold yellow" if answer.no_fault_likely else ""))
    for name in answer.degraded:
        screen.print(Text(f"{name} did not answer: what it would show is not in this ranking", "bold yellow"))
    for sentence in time_lines(answer, zone=None) if not recorded else ():
        screen.print(Text(sentence, "dim"))
    for sentence in (*answer.not_asked, answer.report_effect):
        if sentence:
            screen.print(Text(sentence, "dim"))
    if not answer.queries:
        screen.print("No query can be asked here: the inventory is empty. `revelio doctor` says which backends answer.")
    for ranked in answer.queries:
        screen.print()
        _card(screen, ranked, incident.evidence)


def _card(screen: Console, ranked: RankedQuery, evidence: Evidence) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from revelio.types import fill

    filled = round(ranked.probability * _BAR)
    head = Text(f"{ranked.rank:>2}. ", "bold")
    head.append("█" * filled, "green").append("░" * (_BAR - filled), "dim").append(f" {ranked.probability:>4.0%}  ")
    head.append(ranked.query.title, "bold").append(f"  [{ranked.source or ranked.query.template.tool}]", "cyan")
    screen.print(head)
    words = [Text(fill(ranked.query.template.shows, ranked.query.bindings))]
    for factor in ranked.factors:
        if factor.because:
            words.append(Text(f"{factor.name} {math.exp(factor.log_probability):.0%}: {'; '.join(factor.because)}", "dim"))
    for text in words:
        if text:
            screen.print(Padding(text, _INDENT))
    origin = ranked.query.template.origin
    links = [ranked.link or "", origin.url if origin else ""]
    lines = [(line, "green") for line in ranked.text.splitlines()] + [(link, "blue") for link in links]
    for line, style in (*lines, (f"revelio run {ranked.query.id}", "dim")):
        if line:
            screen.print(Text(f"    {line}", style), soft_wrap=True)  # unbroken, so that it can be copied
    if ranked.result is not None:
        from revelio.cli.evidence import evidence_view

        screen.print(Padding(evidence_view(ranked.result, evidence), _INDENT))
