"""``revelio models``: versions of the model learned from feedback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.failure import check_writable
from revelio.cli.output import Json, StepBars, emit, say, table

if TYPE_CHECKING:
    from revelio.ranker.versions import Version


def group() -> typer.Typer:
    """The command group."""
    app = typer.Typer(help="Versions of the model learned from feedback.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(show_all)
    app.command("use")(use)
    app.command("replay-set")(replay_set)
    app.command("rehearsal", hidden=True, deprecated=True)(replay_set)
    return app


def show_all(json: Json = False) -> None:
    """List the versions, newest first, with their feedback and comparison.

    \b
    Examples:
      revelio models list
      revelio models list --json
    """
    from revelio.ranker.artifact import load_manifest
    from revelio.ranker.versions import Versions

    settings = settings_with()
    versions = Versions(settings.learning.folder, load_manifest(settings.model))
    current, last, found = versions.current(), versions.last_run(), versions.list()
    if json:
        rows = [_row(v) for v in found]
        emit({"current": current, "base": versions.base.name, "last_run": last.model_dump() if last else None, "versions": rows})
        return
    from revelio.cli.users import moment

    cells = []
    for one in found:
        made = one.manifest
        figures = {c.name: f"{c.before.top3:.1%} -> {c.after.top3:.1%}" if c.incidents else "" for c in made.comparisons}
        mark = "*" if made.name == current else ""
        cells.append((mark, made.name, moment(made.made_at), made.learned.answers, *list(figures.values())[:2], one.trouble))
    cells.append(("*" if current == versions.base.name else "", versions.base.name, "", "", "", "", "the base model"))
    table("", ("", "version", "made", "answers", "held out, top 3", "feedback, top 3", ""), cells, numbers=(3, 4, 5))
    if last:
        say(f"last attempt {moment(last.at)}: {last.outcome}")


def _row(version: Version) -> dict[str, object]:
    manifest = version.manifest.model_dump(exclude={"features", "templates"})
    # Deprecated: `caution` and `learnt` are the former names of `l2` and `learned`.
    return manifest | {"trouble": version.trouble, "caution": manifest["l2"], "learnt": manifest["learned"]}


def use(
    name: Annotated[str, typer.Argument(metavar="VERSION", help="A version of `revelio models list`, or base.")],
    json: Json = False,
) -> None:
    """Activate a version; `base` is the model without feedback. Running servers switch at once.

    \b
    Examples:
      revelio models use base
      revelio models use revelio-1a2b3c4d.2
    """
    from revelio.ranker.artifact import load_manifest
    from revelio.ranker.versions import Versions

    settings = settings_with()
    chosen = Versions(settings.learning.folder, load_manifest(settings.model)).use(name)
    if json:
        emit({"current": chosen})
    else:
        say(f"{chosen} is active")


def replay_set(
    dataset: Annotated[Path, typer.Option("--dataset", help="Folder of a dataset.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    train: Annotated[int, typer.Option("--train", min=1, help="Incidents to replay.")] = 60,
    held_out: Annotated[int, typer.Option("--held-out", min=1, help="Incidents to compare on.")] = 60,
    json: Json = False,
) -> None:
    """Choose labelled incidents for `revelio learn`: some to replay, some to compare on, a few of each fault kind.

    \b
    Examples:
      revelio models replay-set --dataset data/three_apps --out var/replay_set
    """
    from revelio.training.feedback.replay_set import choose

    check_writable(out / "manifest.json")
    with StepBars() as bars:
        written = choose(dataset, out, train=train, held_out=held_out, progress=bars.report)
    if json:
        emit({"folder": str(out), "splits": written})
    else:
        say(f"{sum(written.values())} incidents are in {out}: {', '.join(f'{n} {s}' for s, n in written.items())}")
