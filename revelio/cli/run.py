"""``revelio run``: one query and its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import (
    AtOption,
    IncidentOption,
    SinceOption,
    SystemOption,
    WindowOption,
    asked_time,
    choose_place,
    open_service,
    take_snapshot,
)
from revelio.cli.output import Json, console, emit
from revelio.errors import NotFoundError
from revelio.support.suggestion import suggestion

if TYPE_CHECKING:
    from revelio.catalog import Catalog
    from revelio.types import Incident, Query


def run(
    query: Annotated[str, typer.Argument(help="A query id, a template id, or (with --tool) text in the tool's own language.")],
    tool: Annotated[str | None, typer.Option("--tool", help="Take QUERY as text in this tool's language.")] = None,
    bind: Annotated[list[str] | None, typer.Option("--bind", metavar="BLANK=VALUE", help="Fills a template's blank.")] = None,
    incident: IncidentOption = None,
    system: SystemOption = None,
    since: SinceOption = "",
    at: AtOption = "",
    window: WindowOption = "",
    json: Json = False,
) -> None:
    """Run one query, live or from a recording, and show its evidence.

    \b
    Examples:
      revelio run prometheus.cpu-1a2b3c4d --system shop
      revelio run prometheus.cpu --bind container=cart --incident shop-1a2b3c4d5e
      revelio run prometheus.cpu --bind container=cart --at 14:20 --window 20m
      revelio run 'rate(http_server_request_duration_seconds_count[10s])' --tool prometheus --system shop
    """
    service = open_service()
    seen = take_snapshot(service, *choose_place(service, system, incident), asked_time(since, at, window))
    wanted = _own_text(service.catalog, tool, query) if tool else _find(service.catalog, seen, query, _pairs(bind or []))
    result = service.run_query(seen, wanted)
    if json:
        from revelio.presentation import result_view

        emit(result_view(result, seen.evidence, panels=True))
        return
    from rich.text import Text

    from revelio.cli.evidence import evidence_view

    screen = console()
    screen.print(Text.assemble((wanted.title, "bold"), (f"  [{wanted.template.tool}]", "cyan")))
    screen.print(evidence_view(result, seen.evidence))


def _pairs(given: list[str]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for item in given:
        blank, equals, value = item.partition("=")
        if not equals or not blank or not value:
            raise typer.BadParameter(f"--bind takes BLANK=VALUE, for example --bind service=cart, not {item!r}")
        pairs.append((blank, value))
    return tuple(sorted(pairs))


def _find(catalog: Catalog, incident: Incident, wanted: str, pairs: tuple[tuple[str, str], ...]) -> Query:
    """The candidate of that id, or the one of that template whose bindings contain the pairs."""
    from revelio.catalog.candidates import candidates, inventory

    there = incident.candidates or candidates(catalog, inventory(incident.evidence))
    fitting = [q for q in there if q.id == wanted or (q.template.id == wanted and set(pairs) <= set(q.bindings))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        choices = ", ".join(" ".join(f"--bind {b}={v}" for b, v in q.bindings) for q in fitting[:8])
        raise NotFoundError(
            f"{wanted} can be asked of {len(fitting)} places; choose one: {choices}{', …' if len(fitting) > 8 else ''}"
        )
    if misfit := _misfit([q for q in there if q.template.id == wanted], wanted, pairs):
        raise NotFoundError(misfit)
    raise NotFoundError(
        f"no query {wanted!r} can be asked of {incident.system}; `revelio catalog list` shows the templates, "
        "`revelio recommend` gives ids, and --tool T takes QUERY as the tool's own text"
    )


def _misfit(of_template: list[Query], wanted: str, pairs: tuple[tuple[str, str], ...]) -> str:
    """What is wrong with the pairs, where the template can be asked about something else; "" where it cannot be asked at all."""
    for blank, value in pairs if of_template else ():
        blanks = dict.fromkeys(b for q in of_template for b, _ in q.bindings)
        if blank not in blanks:
            return f"{wanted} has no blank {blank!r}; " + (suggestion(blank, blanks) if blanks else "leave --bind out")
        values = dict.fromkeys(v for q in of_template for b, v in q.bindings if b == blank)
        if value not in values:
            return f"{wanted} cannot be asked of {blank} {value!r}; {suggestion(value, values)}"
    asked = " ".join(f"--bind {b}={v}" for b, v in pairs)
    return f"{wanted} cannot be asked with {asked} at once; leave one of them out" if of_template else ""


def _own_text(catalog: Catalog, tool: str, text: str) -> Query:
    from revelio.types import Query, QueryTemplate

    if catalog.product(tool) is None:
        raise NotFoundError(f"no tool {tool!r}; there are: {', '.join(t.name for t in catalog.tools)}")
    return Query(QueryTemplate("own-text", tool, text, "", text))
