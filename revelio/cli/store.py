"""``revelio store``: saved answers, feedback and the audit trail; backup, restore and upgrade of the database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from revelio.cli.engine import opened_store, settings_with
from revelio.cli.output import Json, StepBars, emit, say, table
from revelio.errors.redaction import redact_address

_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.0}


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Manage saved answers, feedback and the audit trail.", no_args_is_help=True, rich_markup_mode=None)
    app.command("prune")(prune)
    app.command("export")(export)
    app.command("audit")(audit)
    app.command("backup")(backup)
    app.command("restore")(restore)
    app.command("migrate")(migrate)
    app.command("reindex")(reindex)
    return app


def reindex(json: Json = False) -> None:
    """Index all past incidents with a known cause again, for the model that answers now. Meanwhile the old index serves.

    The index is kept up to date by itself; this fills one that other servers will share, or checks that it can be reached.

    \b
    Examples:
      revelio store reindex
    """
    from revelio.cli.engine import open_service

    service = open_service()
    try:
        with StepBars() as bars:
            count = service.similar_incidents.rebuild(bars.report)
    finally:
        service.close()
    if json:
        emit({"incidents": count, "engine": service.settings.retrieval.engine})
    else:
        say(f"{count} past incidents with a known cause are indexed by {service.settings.retrieval.engine}")


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

    from revelio.store.export import exported
    from revelio.systems.incidents.exchange import Record, write_records

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


Replace = Annotated[bool, typer.Option("--replace", help="Delete what is there first.")]


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write the backup, an SQLite file.", dir_okay=False)],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that exists.")] = False,
    json: Json = False,
) -> None:
    """Write the whole store to one file, from SQLite or Postgres, while the server runs.

    The file holds password and token digests: keep it as safe as the database.

    \b
    Examples:
      revelio store backup revelio-backup.db
      REVELIO_DATABASE=postgresql://revelio@db/revelio revelio store backup revelio-backup.db --replace
    """
    from revelio.store.transfer import back_up

    _print_copied(back_up(settings_with().database, file, replace=replace), str(file), json)


def restore(
    file: Annotated[Path, typer.Argument(help="A backup made by this or an older version.", dir_okay=False)],
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Fill the database of the settings, SQLite or Postgres, from a backup. Stop the server first.

    All or nothing is written; a backup of an older version is upgraded on the way.

    \b
    Examples:
      revelio store restore revelio-backup.db
      revelio store restore revelio-backup.db --replace
    """
    from revelio.store.transfer import restore as fill

    database = settings_with().database
    _print_copied(fill(file, database, replace=replace), database, json)


def migrate(
    to: Annotated[
        str | None, typer.Option("--to", metavar="ADDRESS", help="Copy the store into this database, such as a Postgres.")
    ] = None,
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Upgrade the database to this version, or copy it into another one. Stop the server first.

    The server upgrades its database too when it starts; make a backup before.

    \b
    Examples:
      revelio store migrate
      revelio store migrate --to postgresql://revelio@db/revelio
    """
    from revelio.store.engine import upgrade
    from revelio.store.transfer import transfer

    database = settings_with().database
    if to:
        _print_copied(transfer(database, to, replace=replace), to, json)
        if not json:
            say("set the setting `database` to that address, or REVELIO_DATABASE in the environment, and start the server")
        return
    if replace:
        raise typer.BadParameter("--replace needs --to")
    before, after = upgrade(database)
    if json:
        emit({"database": redact_address(database), "before": before, "after": after})
    else:
        done = f"upgraded from revision {before or 'none'} to {after}" if before != after else f"up to date, at revision {after}"
        say(f"{redact_address(database)}: {done}")


def _print_copied(rows: dict[str, int], where: str, json: bool) -> None:
    if json:
        emit({"to": redact_address(where), "rows": rows})
    else:
        say(f"wrote {sum(rows.values())} rows of {len(rows)} tables to {redact_address(where)}")


def _days(age: str) -> float:
    found = re.fullmatch(r"(\d{1,5})([hdwy])", age.strip())
    if found is None:
        raise typer.BadParameter(f"{age!r} is no age; write it like 90d, 12w, 36h or 2y")
    return int(found[1]) * _UNITS[found[2]]
