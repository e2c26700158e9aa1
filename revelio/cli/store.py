"""``revelio store``: saved answers, feedback and the audit trail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from revelio.cli.engine import opened_store
from revelio.cli.output import Json, StepBars, emit, say, table

_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.0}


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Manage saved answers, feedback and the audit trail.", no_args_is_help=True, rich_markup_mode=None)
    app.command("prune")(prune)
    app.command("export")(export)
    app.command("audit")(audit)
    return app


def prune(
    older_than: Annotated[str, typer.Option("--older-than", help="An age: 90d, 12w, 36h, 2y; whole numbers.")],
    keep_feedback: Annotated[
        bool, typer.Option("--keep-feedback", help="Keep answers with feedback: `revelio learn` uses them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    json: Json = False,
) -> None:
    """Delete answers, results, feedback, alerts and audit entries beyond an age. This cannot be undone; export first.

    \b
    Examples:
      revelio store prune --older-than 90d --dry-run
      revelio store prune --older-than 90d --keep-feedback
    """
    from revelio.store.retention import prune as forget

    days = _days(older_than)
    with opened_store() as store:
        gone = forget(store.database, days, keep_feedback=keep_feedback, only_count=dry_run)
    if json:
        emit(gone)
    else:
        words = (
            f"{gone.answers} answers, {gone.runs} results, {gone.feedback} verdicts, {gone.alerts} alerts, "
            f"{gone.audit} lines of the audit trail"
        )
        say(f"{'would delete' if dry_run else 'deleted'} {words}")


def export(
    file: Annotated[Path, typer.Argument(help="Where to: .jsonl, or .jsonl.xz to compress it.", dir_okay=False)],
    newer_than: Annotated[
        str | None, typer.Option("--newer-than", help="An age, such as 30d; everything when not given.")
    ] = None,
    only_feedback: Annotated[bool, typer.Option("--only-feedback", help="Only answers with feedback.")] = False,
    json: Json = False,
) -> None:
    """Export answers as incidents in the exchange format; positive feedback becomes labels.

    \b
    Examples:
      revelio store export answers.jsonl.xz
      revelio store export feedback.jsonl --only-feedback --newer-than 30d
    """
    import time
    from collections.abc import Iterator

    from revelio.incidents.exchange import Record, write_records
    from revelio.store.export import exported

    since = time.time() - _days(newer_than) * 86400 if newer_than else 0.0
    written = 0

    def counted() -> Iterator[Record]:
        nonlocal written
        for record in exported(store, since=since, only_feedback=only_feedback):
            yield record
            written += 1
            bars.report("answers", written, written)

    with opened_store() as store, StepBars() as bars:
        write_records(file, counted())
    if json:
        emit({"file": str(file), "incidents": written})
    else:
        say(f"wrote {written} incidents to {file}")


def audit(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many lines.")] = 50, json: Json = False
) -> None:
    """Print the audit trail, newest first: sign-ins, roles, tokens, feedback, settings.

    \b
    Examples:
      revelio store audit
      revelio store audit --limit 1000 --json
    """
    from revelio.cli.users import moment

    with opened_store() as store:
        lines = store.audit.list(limit)
    if json:
        emit(lines)
        return
    rows = [(moment(e.at), e.actor, e.action, "" if e.action == "settings" else e.target, e.detail, e.address) for e in lines]
    table("", ("when (UTC)", "who", "what", "of", "detail", "from"), rows)


def _days(age: str) -> float:
    found = re.fullmatch(r"(\d{1,5})([hdwy])", age.strip())
    if found is None:
        raise typer.BadParameter(f"{age!r} is no age; write it like 90d, 12w, 36h or 2y")
    return int(found[1]) * _UNITS[found[2]]
