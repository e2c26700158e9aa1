"""The sentence of a cause: quoted from evidence, by the kind of result, and silent where nothing shows a cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import pytest

from revelio.presentation import cause, cause_sentence
from revelio.types import (
    Blank,
    ColumnRole,
    Entity,
    Evidence,
    Incident,
    LogPattern,
    Query,
    QueryTemplate,
    RankedQuery,
    Reading,
    Recommendation,
    Result,
    Series,
    SpanFigures,
    SpanStat,
    StateChange,
    Window,
)

EVIDENCE = Evidence(Window(3_600.0, 4_200.0), Window(0.0, 3_600.0), (Entity("service", "billing"),))
"""Ten minutes against an hour."""
DB = Entity("log_source", "db")
TIMES = tuple(60.0 * i for i in range(71))
"""One point a minute; the window begins with the 60th."""


def query(title: str = "Something of ${service}", *reads: Reading, **bound: str) -> Query:
    bound = bound or {"service": "billing"}
    blanks = tuple(Blank(name, name) for name in bound)
    return Query(QueryTemplate(f"t.{title}", "t", title, "", "", blanks, reads), tuple(sorted(bound.items())))


def said(*queries: tuple[Query, Result | None, float], evidence: Evidence = EVIDENCE, no_fault: float = 0.1) -> str:
    ranked = tuple(RankedQuery(q, rank, chance, (), result=result) for rank, (q, result, chance) in enumerate(queries, 1))
    calm = Series(Entity("service", "quiet"), "cpu", "cores", TIMES, (0.5,) * len(TIMES))
    incident = Incident("i", "shop", "it is slow", 4_200.0, replace(evidence, series=(*evidence.series, calm)))
    return cause_sentence(Recommendation(incident, ranked, no_fault, "m"))


def series(metric: str, before: float, now: float, unit: str = "", entity: str = "billing", kind: str = "service") -> Series:
    return Series(Entity(kind, entity), metric, unit, TIMES, tuple(before if t < 3_720.0 else now for t in TIMES))


def table(kind: str, roles: tuple[ColumnRole, ...], *rows: tuple[object, ...]) -> Result:
    return Result("12 rows", 1.0, "", roles, rows, kind=kind, roles=roles)  # type: ignore[arg-type]


def changed(field: str, old: str, new: str) -> Result:
    return table("changes", ("at", "container", "field", "old", "new"), (3_700.0, "billing", field, old, new))


def figure(*shown: Series) -> Result:
    return Result("", 1.0, "", series=shown, kind="series")


@pytest.mark.parametrize(
    ("asked", "result", "sentence"),
    [
        (
            query("Heap of ${service} against its limit"),
            figure(series("heap_of_limit", 0.4, 0.96, "of limit")),
            "Heap of billing against its limit: 96 % (normally 40 %, 2.4 × normal) since 01:02:00 UTC. "
            "Next: find what uses it up in billing, or raise the limit.",
        ),
        (
            query("Calls from ${service} to ${peer}", service="web", peer="billing"),
            figure(series("edge_rate", 120.0, 3.0, "req/s", "web->billing", "edge")),
            "Calls from web to billing: 3 req/s (normally 120 req/s) since 01:02:00 UTC. "
            "Next: check whether billing answers, and what lies between web and billing.",
        ),
        (
            query("Does ${service} answer?"),
            figure(series("up", 1.0, 0.0)),
            "billing stopped answering since 01:02:00 UTC. "
            "Next: find out whether billing still runs and what its last log lines say.",
        ),
        (
            query(),
            table("locks", ("pid",), (1,)),
            "Something of billing: 12 rows. Next: read the rows of this result about billing.",
        ),
        (
            query(),
            table(
                "exceptions",
                ("service", "error_type", "origin", "count", "example"),
                ("billing", "KeyError", "tax.py:12", 40, "no rate for country XK"),
            ),
            "billing raises KeyError at tax.py:12 40 times: “no rate for country XK”. "
            "Next: read the code of billing at tax.py:12.",
        ),
        (
            query(),
            changed("limits", "CPU limit 2; memory limit 1Gi", "CPU limit 2; memory limit 64Mi"),
            "Memory limit of billing changed from 1Gi to 64Mi at 01:01:40 UTC. "
            "Next: find out who changed it, or set it back to 1Gi.",
        ),
        (
            query(),
            changed("limits", "2 CPU cores, 512 MiB memory", "0.25 CPU cores, 512 MiB memory"),
            "CPU limit of billing cut from 2 to 0.25 cores at 01:01:40 UTC. "
            "Next: find out who changed it, or set it back to 2 cores.",
        ),
        (
            query(),
            changed("oom", "running", "out of memory"),
            "billing was killed because its memory ran out at 01:01:40 UTC. Next: see what billing keeps in memory.",
        ),
    ],
)
def test_each_kind_of_result_says_what_happened(asked: Query, result: Result, sentence: str) -> None:
    assert said((asked, result, 0.9)) == sentence


def test_the_line_that_names_the_problem_is_quoted_without_what_its_logger_adds() -> None:
    line = LogPattern(
        Entity("log_source", "db"),
        "ERROR",
        "<time>",
        31,
        0,
        3_700.0,
        "2026-11-21 18:21:17.787 UTC [558] ERROR:  deadlock detected",
    )
    other = LogPattern(DB, "INFO", "<time> S", 31, 0, 3_700.0, "18:21 STATEMENT:  UPDATE stock SET n = 1")
    asked = query("New lines of ${service}", Reading("logs", "new_problems"), service="db")
    words = said((asked, None, 0.9), evidence=replace(EVIDENCE, logs=(line, other)))
    assert words.startswith("db rejects “UPDATE stock”: “deadlock detected” 31 times since 01:01:40 UTC.")


def test_what_users_feel_follows_what_happened() -> None:
    edge = SpanStat(Entity("edge", "web->billing"), "web", SpanFigures(40, 40), SpanFigures(40, 0))
    felt = SpanStat(Entity("operation", "web: POST /pay"), "web", SpanFigures(40, 38), SpanFigures(60, 0))
    inner = SpanStat(Entity("operation", "billing: charge"), "billing", SpanFigures(90, 90), SpanFigures(60, 0))
    stopped = StateChange(Entity("container", "billing"), 3_700.0, "state", "running", "exited with code 137")
    evidence = replace(EVIDENCE, spans=(edge, felt, inner), changes=(stopped,))
    words = said((query("State of ${service}", Reading("changes", "state")), None, 0.9), evidence=evidence)
    assert words.startswith(
        "billing stopped at 01:01:40 UTC (code 137) and did not start again; 38 of 40 requests for POST /pay at web failed."
    )


def test_no_error_from_before_a_change_is_said_to_follow_it() -> None:
    def told(first_seen: float) -> str:
        line = LogPattern(Entity("log_source", "billing"), "ERROR", "boom", 9, 0, first_seen, "boom")
        now, was = series("versions 2", 0.0, 1.0, "versions"), series("versions 1", 1.0, 0.0, "versions")
        return said((query("Versions of ${service}"), figure(now, was), 0.9), evidence=replace(EVIDENCE, logs=(line,)))

    assert told(3_728.0).startswith("billing updated 1 → 2 at 01:02:00 UTC; billing logs “boom” 9 times, the first 8 s later.")
    assert told(3_650.0).startswith("billing updated 1 → 2 at 01:02:00 UTC. Next: read what changed from 1 to 2")


def test_two_components_that_look_equally_wrong_are_both_named() -> None:
    one, other = query("Heap of ${service}"), query("Threads of ${service}", service="search")
    heap, threads = figure(series("heap_used", 1e6, 9e6, "B")), figure(series("runtime_threads", 9.0, 90.0, "", "search"))
    assert "; also, Threads of search: 90 (normally 9, 10 × normal)" in said((one, heap, 0.5), (other, threads, 0.4))
    assert "search" not in said((one, heap, 0.8), (other, threads, 0.1))


def test_nothing_is_named_before_anything_shows_it() -> None:
    first = query("Heap of ${service}")
    assert (
        said((first, None, 0.62)) == "Nothing was run yet; the most likely place is billing (62%). Next: run “Heap of billing”."
    )
    normal = Result("calm", 0.1, "", kind="series")
    assert said((first, normal, 0.62)) == "No result so far shows the cause. Next: run the next queries."


def test_a_calm_answer_names_no_cause_and_hides_no_deviation() -> None:
    rate = query("Requests to ${service}")
    evidence = replace(EVIDENCE, series=(series("request_rate", 5.0, 5.0, "req/s"),))
    calm = said((rate, Result("", 0.1, "", kind="series"), 0.5), evidence=evidence, no_fault=0.97)
    assert calm.startswith("Nothing points at a fault (97%); the one result is normal.")
    grown = said((rate, figure(series("request_rate", 5.0, 12.0, "req/s")), 0.5), evidence=evidence, no_fault=0.97)
    assert "; the largest deviation is requests to billing: 12 req/s (normally 5 req/s, 2.4 × normal)" in grown


def test_silence_of_the_sources_is_no_verdict() -> None:
    answer = Recommendation(Incident("i", "shop", "slow", 1.0, EVIDENCE), (), 0.9, "m", degraded=("loki",))
    assert cause_sentence(answer) == ("Too little data to tell: loki did not answer. Next: check the data sources of shop.")
    assert cause(answer).facts == ()


def test_times_are_in_one_zone_which_is_named_once() -> None:
    paused = StateChange(Entity("container", "billing"), 3_700.0, "state", "running", "paused")
    ranked = RankedQuery(query("State of ${service}", Reading("changes", "state")), 1, 0.9, ())
    answer = Recommendation(Incident("i", "shop", "slow", 1.0, replace(EVIDENCE, changes=(paused,))), (ranked,), 0.1, "m")
    assert "since 01:01:40 UTC." in cause_sentence(answer, UTC)
    assert "since 06:31:40 IST." in cause_sentence(answer, timezone(timedelta(hours=5, minutes=30), "IST"))
