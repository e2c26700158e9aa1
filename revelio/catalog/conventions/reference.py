"""The conventions as a page of documentation; ``python -m revelio.cli.reference`` writes it."""

from __future__ import annotations

from revelio.catalog.conventions.loader import conventions, signals
from revelio.catalog.conventions.model import Convention, Signal

_HEAD = """# Conventions

What Revelio reads from a Prometheus without being told where it is: **signals**, and the **conventions** by which exporters
and instrumentations store them. Discovery finds out which conventions a system follows; `revelio doctor` shows what was found
and what to set up to see more. The files are `signals.yaml` and `exporters` in `revelio/catalog/conventions`.
"""


def reference() -> str:
    """The page in Markdown."""
    recorded = sum(c.source == "recorded" for c in conventions().values())
    told = (
        f"{len(signals())} signals, {len(conventions())} conventions; {recorded} of these are tested against the output of "
        "the real program, the others are written from its documentation.\n"
    )
    return "\n".join([_HEAD, told, *_table(), *(line for c in conventions().values() for line in _convention(c))])


def _table() -> list[str]:
    stored: dict[str, list[str]] = {}
    for convention in conventions().values():
        for rule in convention.rules:
            stored.setdefault(rule.signal, []).append(convention.name)
    head = [
        "## Signals",
        "",
        "| signal | of each | unit | bad when it goes | meaning | conventions |",
        "|---|---|---|---|---|---|",
    ]
    return [*head, *(_signal(s, stored.get(s.name, [])) for s in signals().values()), ""]


def _signal(signal: Signal, stored: list[str]) -> str:
    links = ", ".join(f"[{name}](#{name})" for name in dict.fromkeys(stored))
    entity = signal.entity.replace("_", " ")
    return f"| `{signal.name}` | {entity} | {signal.unit or '-'} | {signal.direction} | {signal.meaning} | {links} |"


def _convention(convention: Convention) -> list[str]:
    labels = ", ".join(f"`{label.name}`" for label in convention.components)
    source = f"Recorded: {convention.command}." if convention.source == "recorded" else "From its documentation."
    hint = f" To have it: {convention.hint}." if convention.hint else ""
    rules = [f"| `{rule.signal}` | `{rule.query.strip().replace('|', chr(92) + '|')}` |" for rule in convention.rules]
    return [
        f"## {convention.name}",
        "",
        f"{convention.title}. {source} Components are named by the first of {labels} that is there.{hint}",
        "",
        "| signal | pattern |",
        "|---|---|",
        *rules,
        "",
    ]
