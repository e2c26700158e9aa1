"""Sessions of a database that hold each other up, as a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from revelio.presentation.panels import Node, Tree
from revelio.types import Cell, Result

MAX_NODES = 40

BLOCKING = (
    *("blocked pid", "blocked", "waited, s", "blocking pid", "blocking"),
    *("its state", "its transaction, s", "blocked statement", "blocking statement"),
)
LOCKS = ("pid", "state", "lock", "table", "mode", "granted", "transaction, s", "blocks sessions", "statement")

Row = tuple[Cell, ...]


def tree(result: Result) -> Tree | None:
    """Blocked sessions under those who block them, or locks under those who hold them; None for any other table."""
    rows = [row for row in result.rows if len(row) == len(result.columns)]
    if not rows or result.columns not in (BLOCKING, LOCKS):
        return None
    nodes = list(_blocked(rows)) if result.columns == BLOCKING else list(_locks(rows))
    title = "Who holds up whom" if result.columns == BLOCKING else "Locks by session"
    return Tree(title, tuple(nodes[:MAX_NODES]), max(0, len(nodes) - MAX_NODES))


def _blocked(rows: Sequence[Row]) -> Iterator[Node]:
    """From those whom nobody blocks; sessions that wait for each other in a ring come once, beginning anywhere."""
    below: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        below[row[3]].append(row)
    blocked = {row[0] for row in rows}
    told: set[Cell] = set()
    for start in (*(pid for pid in below if pid not in blocked), *below):
        if start not in told:
            yield from _under(start, _blocker(below[start][0]), below, told)


def _under(start: Cell, root: Node, below: Mapping[Cell, Sequence[Row]], told: set[Cell]) -> Iterator[Node]:
    waiting: list[tuple[Cell, Node]] = [(start, root)]
    while waiting:
        pid, node = waiting.pop()
        if pid in told:
            continue
        told.add(pid)
        yield node
        held_up = [row for row in below.get(pid, ()) if row[0] not in told]
        waiting += [(row[0], _waiter(row, node.depth + 1, bool(below.get(row[0])))) for row in reversed(held_up)]


def _blocker(row: Row) -> Node:
    return Node(0, _session(row[4], row[3]), _joined(row[5], _seconds("transaction open for", row[6]), row[8]), True)


def _waiter(row: Row, depth: int, blocks: bool) -> Node:
    return Node(depth, _session(row[1], row[0]), _joined(_seconds("waits for", row[2]), row[7]), blocks)


def _locks(rows: Sequence[Row]) -> Iterator[Node]:
    sessions: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        sessions[row[0]].append(row)
    for pid, held in sessions.items():
        state, transaction, blocks, statement = held[0][1], held[0][6], held[0][7], held[0][8]
        others = f"{blocks} wait for it" if blocks else None
        yield Node(
            0, f"pid {pid}", _joined(state, _seconds("transaction open for", transaction), others, statement), bool(blocks)
        )
        for row in held:
            yield Node(1, str(row[3] or row[2] or "?"), _joined(row[4], None if row[5] else "waits for it"))


def _session(name: Cell, pid: Cell) -> str:
    return f"{name or 'unnamed'} (pid {pid})"


def _seconds(words: str, value: Cell) -> str | None:
    return f"{words} {value:g} s" if isinstance(value, int | float) else None


def _joined(*parts: Cell) -> str:
    return " · ".join(str(part) for part in parts if part)
