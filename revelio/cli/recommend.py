"""``revelio recommend``: the ranked queries for a report."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
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

    from revelio.service.similar_incidents import SimilarIncident
    from revelio.types import Evidence, RankedQuery, Recommendation

_BAR = 20
_FOLDED = 110
"""Characters from which on the text of a query is only shown where all is asked for."""
_INDENT = (0, 0, 0, 4)


def recommend(
    text: Annotated[str | None, typer.Argument(help="What a user noticed, or - to read it from standard input.")] = None,
    incident: IncidentOption = None,
    system: SystemOption = None,
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="How many queries.")] = 5,
    run: Annotated[bool, typer.Option("--run", help="Run each query and show its evidence.")] = False,
    since: SinceOption = "",
    at: AtOption = "",
    window: WindowOption = "",
    similar: Annotated[bool, typer.Option("--similar", help="Also show past incidents like this one, with causes.")] = False,
    model: ModelOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show each query's text, how its probability comes about, and links.")
    ] = False,
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
    if report is None:
        report = service.incidents.get(incident).incident().report if incident else ""
    from revelio.service.request import RecommendRequest

    asked = asked_time(since, at, window)
    zone = datetime.now().astimezone().tzinfo
    answer = service.rank(RecommendRequest(report, *place, k=k, run=k if run else 0, time=asked, zone=zone))
    past = service.similar_incidents.find(answer) if similar else None
    service.close()
    if json:
        from revelio.presentation import recommendation_json

        view = recommendation_json(answer.incident.id, answer, recorded=incident, panels=True).model_dump(mode="json")
        emit(view if past is None else view | {"similar": [asdict(one) for one in past]})
        return
    asked_again = (("--since", since), ("--at", at), ("--window", window))
    named = ["--incident", incident] if incident else ["--system", answer.incident.system]
    where = shlex.join((*named, *(word for option in asked_again if option[1] for word in option)))
    _show(console(), answer, where, recorded=bool(incident), verbose=verbose)
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


def _show(screen: Console, answer: Recommendation, where: str, *, recorded: bool, verbose: bool) -> None:
    """What the answer says, then the queries, then how it came about; ``where`` are the options that ask there again."""
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
    faulty = answer.outcome == "fault"
    if not answer.queries:
        screen.print("No query can be asked here: the inventory is empty. `revelio doctor` says which backends answer.")
    elif not faulty:
        screen.print("\nIf something is wrong all the same, these would show it first:")
    for ranked in answer.queries:
        if faulty or verbose or ranked.result is not None:
            screen.print()
        _card(screen, ranked, incident.evidence, where, weighed=faulty, verbose=verbose)
    screen.print()
    for sentence in _footnotes(answer, verbose=verbose):
        screen.print(Text(sentence, "dim"))


def _footnotes(answer: Recommendation, *, verbose: bool) -> Iterator[str]:
    if answer.report_effect:
        yield answer.report_effect
    if verbose:
        yield from answer.not_asked
    elif answer.not_asked:
        yield f"{len(answer.not_asked)} groups of questions could not be asked; --verbose and `revelio doctor` say why"
    if answer.queries and not verbose:
        yield "--verbose adds each query's text and how its probability comes about; --run runs them"


def _card(screen: Console, ranked: RankedQuery, evidence: Evidence, where: str, *, weighed: bool, verbose: bool) -> None:
    """A query. Its probability is that of showing the cause if there is a fault, so it is left out where none is likely."""
    from rich.padding import Padding
    from rich.text import Text

    from revelio.catalog.aliases import also_called

    filled = round(ranked.probability * _BAR)
    head = Text(f"{ranked.rank:>2}. ", "bold")
    if weighed or verbose:
        head.append("█" * filled, "green").append("░" * (_BAR - filled), "dim").append(f" {ranked.probability:>4.0%}  ")
    head.append(ranked.query.title, "bold").append(f"  [{ranked.source or ranked.query.template.tool}]", "cyan")
    screen.print(head)
    if called := also_called(ranked.query, evidence):
        screen.print(Padding(Text(called, "dim"), _INDENT))
    if weighed or verbose:
        for text in _reasons(ranked, verbose=verbose):
            screen.print(Padding(Text(text, "dim"), _INDENT))
    written = ranked.text.splitlines()
    folded = not verbose and (len(written) > 1 or len(ranked.text) > _FOLDED)
    lines = [(line, "green") for line in (() if folded else written)]
    if verbose:
        origin = ranked.query.template.origin
        lines += [(link, "blue") for link in (ranked.link, origin.url if origin else "") if link]
    for line, style in (*lines, (f"revelio run {ranked.query.id} {where}", "dim")):
        screen.print(Text(f"    {line}", style), soft_wrap=True)  # unbroken, so that it can be copied
    if ranked.result is not None:
        from revelio.cli.evidence import evidence_view

        screen.print(Padding(evidence_view(ranked.result, evidence), _INDENT))


def _reasons(ranked: RankedQuery, *, verbose: bool) -> Iterator[str]:
    """Why this query: for these targets alone, or all factors with what they count for."""
    from revelio.types import fill

    if not verbose:
        yield from ("; ".join(f.because) for f in ranked.factors[-1:] if f.because)
        return
    if shows := fill(ranked.query.template.shows, ranked.query.bindings):
        yield shows
    for factor in ranked.factors:
        if factor.because:
            yield f"{factor.name} {math.exp(factor.log_probability):.0%}: {'; '.join(factor.because)}"
