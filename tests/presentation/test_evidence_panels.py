"""Which panels a result becomes: each tool's table in the form that reads best, and no table may break that."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from revelio.presentation import evidence_panels, result_view
from revelio.presentation.comparisons import MAX_GROUPS
from revelio.presentation.panels import Chart, Groups, Panel, Table, Timeline, Tree, Waterfall
from revelio.types import Cell, ColumnRole, Entity, Evidence, LogPattern, Result, ResultKind, Series, Span, StateChange, Window

CART = Entity("container", "cart")
GATEWAY = Entity("log_source", "gateway")
EVIDENCE = Evidence(
    Window(60.0, 90.0),
    Window(0.0, 60.0),
    logs=(LogPattern(GATEWAY, "ERROR", "no answer after <n> ms [Timeout]", 7, 1, 61.0),),
    changes=(StateChange(CART, 70.0, "state", "running", "paused"), StateChange(Entity("container", "x"), 71.0, "state", "", "")),
)
Form = tuple[ResultKind, tuple[ColumnRole, ...]]
LINES: Form = ("log_lines", ("at", "level", "service", "message", "error_type", "origin", "trace_id"))
EXCEPTIONS: Form = ("exceptions", ("service", "error_type", "origin", "count", "example"))
NEW_PATTERNS: Form = ("log_patterns", ("service", "level", "pattern", "count", "first_seen", "example"))
OPERATIONS: Form = ("operations", ("operation", "spans", "", "now", "", "before"))
FLOW: Form = ("flows", ("source", "target", "port", "protocol", "now", "before", ""))
LOOKUPS: Form = ("name_lookups", ("source", "name", "answer", "now", "before"))
EVENTS: Form = ("changes", ("at", "container", "field", "old", "new"))
CHECKS: Form = ("health_checks", ("container", "at", "passed", "output"))
STATE: Form = ("containers", ("container", ""))
BLOCKING: Form = (
    "sessions",
    (
        *("blocked_pid", "blocked", "waited_s", "blocking_pid", "blocking"),
        *("state", "transaction_s", "statement", "blocking_statement"),
    ),
)
LOCKS: Form = ("locks", ("pid", "state", "lock", "table", "mode", "granted", "transaction_s", "waiters", "statement"))
FORMS: list[Form] = [
    *(LINES, EXCEPTIONS, NEW_PATTERNS, OPERATIONS, FLOW, LOOKUPS, EVENTS, CHECKS, STATE, BLOCKING, LOCKS),
    ("self_time", ("service", "spans", "now", "before", "")),
    ("table", ("", "")),
    ("unspecified", ()),
]


def made(form: Form, *rows: tuple[Cell, ...], measure: str = "") -> Result:
    kind, roles = form
    columns = tuple(f"column {i}" for i, _ in enumerate(roles))
    return Result("s", 0.5, "r", columns, rows, kind=kind, roles=roles, measure=measure)


def panels(form: Form, *rows: tuple[Cell, ...]) -> tuple[Panel, ...]:
    return evidence_panels(made(form, *rows), EVIDENCE).panels


def groups(form: Form, *rows: tuple[Cell, ...], measure: str = "") -> Groups:
    first, table = evidence_panels(made(form, *rows, measure=measure), EVIDENCE).panels
    assert isinstance(first, Groups)
    assert isinstance(table, Table)
    assert table.redundant
    return first


def a_line(message: str, trace: str = "t", level: str = "ERROR") -> tuple[Cell, ...]:
    return (80.0, level, "gateway", message, "Timeout", "peers.py:9", trace)


def test_log_lines_become_patterns_with_the_counts_that_the_snapshot_knows() -> None:
    found = groups(LINES, a_line("no answer after 3 ms", "a"), a_line("no answer after 40 ms", "b"), a_line("else", "c", "INFO"))
    known, unknown = found.groups
    assert (known.label, known.about, known.now, known.before) == (
        "no answer after <n> ms [Timeout]",
        ("ERROR", "gateway"),
        7.0,
        1.0,
    )
    assert (unknown.label, unknown.now, unknown.before, unknown.mark) == ("else [Timeout]", 1.0, None, "")
    assert known.example == "no answer after 3 ms"
    assert (found.now_s, found.before_s) == (30.0, 60.0)


def test_what_a_store_of_logs_knows_of_before_is_what_is_compared() -> None:
    young = replace(EVIDENCE, history=(("logs", EVIDENCE.baseline.end - 20.0),))
    first, _ = evidence_panels(made(LINES, a_line("no answer after 3 ms", "a"), a_line("else", "c")), young).panels
    assert isinstance(first, Groups) and first.before_s == 20.0


def test_the_lines_of_one_request_stay_in_the_order_of_time() -> None:
    (table,) = panels(LINES, a_line("one"), a_line("two"))
    assert isinstance(table, Table)
    assert not table.redundant


def test_exceptions_and_new_patterns_are_groups_too() -> None:
    (found,) = groups(EXCEPTIONS, ("gateway", "Timeout", "peers.py:9", 7, "no answer")).groups
    assert (found.label, found.now, found.before) == ("Timeout at peers.py:9", 7.0, 1.0)
    (new,) = groups(NEW_PATTERNS, ("gateway", "ERROR", "no <n>", 3, 61.0, "no 1")).groups
    assert (new.label, new.now, new.before, new.mark) == ("no <n>", 3.0, 0.0, "new")


def test_packets_are_summed_up_by_flow() -> None:
    rows = (("web", "cart", 8000, "TCP", 18, 0, 20), ("web", "db", 5432, "TCP", 4, 8, 20), ("a", "b", 1, "TCP", 0, 3, 9))
    found = groups(FLOW, *rows, measure="resets")
    assert found.title == "Resets, by flow"
    assert [(g.label, g.now, g.before, g.mark) for g in found.groups] == [
        ("web → cart:8000", 18.0, 0.0, "new"),
        ("web → db:5432", 4.0, 8.0, ""),
        ("a → b:1", 0.0, 3.0, "gone"),
    ]


def test_slow_answers_are_compared_by_their_p95() -> None:
    form: Form = ("flows", ("source", "target", "port", "", "", "", "now", "", "", "before", ""))
    found = groups(form, ("a", "b", 80, 9, 9, 1.0, 900.0, 950.0, 1.0, 20.0, 30.0), measure="response time p95")
    (flow,) = found.groups
    assert found.unit == "ms"
    assert (flow.label, flow.now, flow.before, flow.mark) == ("a → b:80", 900.0, 20.0, "more")


def test_a_few_milliseconds_more_do_not_stand_out_and_what_was_found_never_does() -> None:
    (short,) = groups(OPERATIONS, ("GET /", 1, 1.0, 2.9, 1.0, 1.0)).groups
    assert (short.about, short.mark) == (("1 span",), "")
    failed, found = groups(LOOKUPS, ("web", "db", "no such name", 9, 0), ("web", "db", "found", 9, 0)).groups
    assert (failed.mark, found.mark) == ("new", "")


def test_counts_stand_out_by_their_rate_not_by_their_number() -> None:
    (same,) = groups(FLOW, ("a", "b", 1, "TCP", 20, 40, 9)).groups
    (more,) = groups(FLOW, ("a", "b", 1, "TCP", 60, 40, 9)).groups
    assert (same.mark, more.mark) == ("", "more")


def test_more_groups_than_can_be_read_are_counted() -> None:
    many = groups(FLOW, *((str(i), "b", 1, "TCP", 1, 1, 1) for i in range(MAX_GROUPS + 4)))
    assert (len(many.groups), many.left_out) == (MAX_GROUPS, 4)


def test_what_happened_to_containers_is_a_timeline() -> None:
    line, _ = panels(EVENTS, (80.0, "cart", "state", "running", "paused"), (10.0, "cart", "started", "", "running"))
    assert isinstance(line, Timeline)
    assert [(m.at, m.what, m.during) for m in line.moments] == [(10.0, "started", False), (80.0, "state", True)]
    checks, _ = panels(CHECKS, ("cart", 80.0, False, "no\nanswer"), ("cart", 85.0, True, "ok"))
    assert isinstance(checks, Timeline)
    assert [m.after for m in checks.moments] == ["failed: no answer", "passed"]


def test_a_table_about_a_container_is_joined_by_what_happened_to_that_one() -> None:
    line, table = panels(STATE, ("cart", 1.0))
    assert isinstance(line, Timeline)
    assert [(m.entity, m.after) for m in line.moments] == [("cart", "paused")]
    assert isinstance(table, Table)


def a_wait(blocked: int, blocking: int) -> tuple[Cell, ...]:
    return (blocked, f"s{blocked}", 2.5, blocking, f"s{blocking}", "active", 9.0, "UPDATE a", "LOCK b")


def test_blocked_sessions_stand_under_those_who_hold_them_up() -> None:
    tree, _ = panels(BLOCKING, a_wait(2, 1), a_wait(3, 2), a_wait(4, 1))
    assert isinstance(tree, Tree)
    assert [(n.depth, n.name, n.mark) for n in tree.nodes] == [
        (0, "s1 (pid 1)", True),
        (1, "s2 (pid 2)", True),
        (2, "s3 (pid 3)", False),
        (1, "s4 (pid 4)", False),
    ]
    assert tree.nodes[0].detail == "active · transaction open for 9 s · LOCK b"
    assert tree.nodes[2].detail == "waits for 2.5 s · UPDATE a"


def test_sessions_that_wait_for_each_other_in_a_ring_come_once_each() -> None:
    tree, _ = panels(BLOCKING, a_wait(1, 2), a_wait(2, 1))
    assert isinstance(tree, Tree)
    assert sorted(n.name for n in tree.nodes) == ["s1 (pid 1)", "s2 (pid 2)"]


def test_locks_stand_under_their_session() -> None:
    held = (7, "idle in transaction", "relation", "orders", "RowExclusiveLock", True, 24.5, 2, "INSERT")
    tree, _ = panels(LOCKS, held, (*held[:3], "users", "ShareLock", False, *held[6:]))
    assert isinstance(tree, Tree)
    assert [(n.depth, n.name, n.mark) for n in tree.nodes] == [(0, "pid 7", True), (1, "orders", False), (1, "users", False)]
    assert tree.nodes[0].detail == "idle in transaction · transaction open for 24.5 s · 2 wait for it · INSERT"
    assert tree.nodes[2].detail == "ShareLock · waits for it"


def test_the_failing_or_the_slow_span_is_marked() -> None:
    spans = (
        Span("a", None, "gateway", "GET /", 0.0, 100.0, True),
        Span("b", "a", "cart", "GET /c", 0.01, 80.0, True),
        Span("c", "b", "redis", "GET", 0.02, 5.0),
    )
    (trace,) = evidence_panels(Result("s", 1.0, "", spans=spans), EVIDENCE).panels
    assert isinstance(trace, Waterfall)
    assert [(b.mark, b.own_ms) for b in trace.bars] == [("failed", 20.0), ("origin", 75.0), ("", 5.0)]
    (calm,) = evidence_panels(Result("s", 1.0, "", spans=tuple(replace(s, error=False) for s in spans)), EVIDENCE).panels
    assert isinstance(calm, Waterfall)
    assert [b.mark for b in calm.bars] == ["", "slow", ""]


def test_a_chart_knows_window_and_baseline_and_the_figures_of_each() -> None:
    series = Series(CART, "cpu_used", "cores", (10.0, 20.0, 70.0, 80.0), (1.0, float("nan"), 4.0, 6.0))
    (chart,) = evidence_panels(Result("s", 1.0, "", series=(series,)), EVIDENCE).panels
    assert isinstance(chart, Chart)
    (line,) = chart.lines
    assert (chart.title, line.name, line.before, line.now, line.highest) == ("CPU used", "cart", 1.0, 6.0, 6.0)
    assert line.values == (1.0, None, 4.0, 6.0)
    assert (chart.baseline, chart.window) == (EVIDENCE.baseline, EVIDENCE.window)


CELLS = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=20)


@given(st.sampled_from(FORMS), st.lists(st.lists(CELLS, max_size=10).map(tuple), max_size=8), st.data())
def test_no_row_of_any_table_breaks_its_panels_or_its_json(
    form: Form, ragged: list[tuple[Cell, ...]], data: st.DataObject
) -> None:
    whole = data.draw(st.lists(st.tuples(*[CELLS] * len(form[1])), max_size=6))
    result = made(form, *ragged, *whole)
    assert isinstance(evidence_panels(result, EVIDENCE).panels, tuple)
    result_view(result, EVIDENCE, panels=True).model_dump_json()


def test_json_has_the_panels_and_the_rows_once() -> None:
    view = result_view(made(EVENTS, (80.0, "cart", "state", "running", "paused")), EVIDENCE, panels=True).model_dump(mode="json")
    assert [panel["kind"] for panel in view["panels"]] == ["timeline"]
    assert view["rows"] == [[80.0, "cart", "state", "running", "paused"]]
    assert result_view(Result("s", 0.5, "r"), EVIDENCE).panels == []
