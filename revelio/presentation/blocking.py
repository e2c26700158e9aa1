"""Sessions of a database that block each other, as a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from revelio.presentation.panels import Node, Tree
from revelio.presentation.rows import Row, rows_by_role
from revelio.types import Cell, ColumnRole, Result

MAX_NODES = 40

_WAITS: tuple[ColumnRole, ...] = (
    *("blocked_pid", "blocked", "waited_s", "blocking_pid", "blocking"),
    *("state", "transaction_s", "statement", "blocking_statement"),
)
_LOCKS: tuple[ColumnRole, ...] = (*("pid", "state", "lock", "table", "mode", "granted", "transaction_s", "waiters", "statement"),)


def tree(result: Result) -> Tree | None:
    """Blocked sessions under those that block them, or locks under their sessions; None for any other result."""
    if result.kind == "sessions":
        title, nodes = "Blocking sessions", list(_blocked(rows_by_role(result, _WAITS)))
    elif result.kind == "locks":
        title, nodes = "Locks by session", list(_locks(rows_by_role(result, _LOCKS)))
    else:
        return None
    return Tree(title, tuple(nodes[:MAX_NODES]), max(0, len(nodes) - MAX_NODES)) if nodes else None


def _blocked(rows: Sequence[Row]) -> Iterator[Node]:
    """From those that nothing blocks; sessions that wait for each other in a ring come once, starting anywhere."""
    below: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        below[row["blocking_pid"]].append(row)
    blocked = {row["blocked_pid"] for row in rows}
    done: set[Cell] = set()
    for start in (*(pid for pid in below if pid not in blocked), *below):
        if start not in done:
            yield from _under(start, _blocker(below[start][0]), below, done)


def _under(start: Cell, root: Node, below: Mapping[Cell, Sequence[Row]], done: set[Cell]) -> Iterator[Node]:
    waiting: list[tuple[Cell, Node]] = [(start, root)]
    while waiting:
        pid, node = waiting.pop()
        if pid in done:
            continue
        done.add(pid)
        yield node
        held_up = [row for row in below.get(pid, ()) if row["blocked_pid"] not in done]
        waiting += [
            (row["blocked_pid"], _waiter(row, node.depth + 1, bool(below.get(row["blocked_pid"])))) for row in reversed(held_up)
        ]


def _blocker(row: Row) -> Node:
    open_for = _seconds("transaction open for", row["transaction_s"])
    detail = _joined(row["state"], open_for, row["blocking_statement"])
    return Node(0, _session(row["blocking"], row["blocking_pid"]), detail, True)


def _waiter(row: Row, depth: int, blocks: bool) -> Node:
    detail = _joined(_seconds("waits for", row["waited_s"]), row["statement"])
    return Node(depth, _session(row["blocked"], row["blocked_pid"]), detail, blocks)


def _locks(rows: Sequence[Row]) -> Iterator[Node]:
    sessions: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        sessions[row["pid"]].append(row)
    for pid, held in sessions.items():
        first = held[0]
        waiters = f"{first['waiters']} wait for it" if first["waiters"] else None
        open_for = _seconds("transaction open for", first["transaction_s"])
        yield Node(0, f"pid {pid}", _joined(first["state"], open_for, waiters, first["statement"]), bool(first["waiters"]))
        for row in held:
            yield Node(
                1, str(row["table"] or row["lock"] or "?"), _joined(row["mode"], None if row["granted"] else "waits for it")
            )


def _session(name: Cell, pid: Cell) -> str:
    return f"{name or 'unnamed'} (pid {pid})"


def _seconds(words: str, value: Cell) -> str | None:
    return f"{words} {value:g} s" if isinstance(value, int | float) else None


def _joined(*parts: Cell) -> str:
    return " · ".join(str(part) for part in parts if part)
