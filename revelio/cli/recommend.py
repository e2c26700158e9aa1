"""``revelio recommend``: the ranked queries for a report."""

from __future__ import annotations

import math
import sys
import time
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
    if json:
        from revelio.presentation import recommendation_json

        emit(recommendation_json(answer.incident.id, answer, recorded=incident, panels=True))
        return
    _show(console(), answer, recorded=bool(incident))


def _show(screen: Console, answer: Recommendation, *, recorded: bool) -> None:
    from rich.text import Text

    from revelio.presentation import cause_sentence, time_lines

    incident = answer.incident
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(incident.opened_at))
    source = f"recorded incident {incident.id}" if recorded else "live"
    screen.print(Text(f"{incident.system} · {source} · {when} · model {answer.model} · {answer.took_ms:.0f} ms", "dim"))
    screen.print(Text(cause_sentence(answer, zone=None), "bold"))
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
