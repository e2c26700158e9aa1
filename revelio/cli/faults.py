"""``revelio faults``: one fault on a running testbed."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from revelio.cli.output import Json, emit, say, table

AppOption = Annotated[str, typer.Option("--app", help="An application of the testbed.")]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="One fault on a running testbed.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(show)
    app.command("inject")(inject)
    app.command("undo")(undo)
    return app


def show(app: AppOption = "shop", json: Json = False) -> None:
    """List the kinds of faults with their places and strengths, and the faults now in force.

    \b
    Examples:
      revelio faults list
      revelio faults list --json | jq '.kinds[].kind'
    """
    from fault_injection.apps import app_named
    from fault_injection.inject import open_faults
    from fault_injection.kinds import kinds

    target = app_named(app)
    known = [
        {
            "kind": k.name,
            "category": k.category,
            "places": k.places(target),
            "strengths": tuple(k.strengths),
            "explanation": k.explanation,
        }
        for k in kinds()
    ]
    in_force = open_faults(target)
    if json:
        emit({"kinds": known, "in_force": in_force})
        return
    rows = [
        (k.name, k.category, ", ".join(k.places(target)), ", ".join(k.strengths), " ".join(k.explanation.split()))
        for k in kinds()
    ]
    table("", ("kind", "category", "places", "strengths", "what it is"), rows)
    for fault in in_force:
        say(f"in force: {fault.kind} at {fault.place} ({fault.strength}); `revelio faults undo` ends it")


def inject(
    kind: Annotated[str, typer.Argument(help="A kind of `revelio faults list`.")],
    at: Annotated[str, typer.Option("--at", metavar="PLACE", help="Where.")],
    strength: Annotated[str | None, typer.Option("--strength", help="How strongly; the kind's first one when not given.")] = None,
    seconds: Annotated[float | None, typer.Option("--for", min=1, metavar="SECONDS", help="Undo it after so long.")] = None,
    app: AppOption = "shop",
    json: Json = False,
) -> None:
    """Put one fault in force and prove that it took effect. Without --for it stays until `revelio faults undo`.

    \b
    Examples:
      revelio faults inject cpu_quota --at cart
      revelio faults inject container_pause --at payment --for 30
    """
    from fault_injection.apps import app_named
    from fault_injection.engine import DockerEngine
    from fault_injection.inject import inject as put_in_force
    from fault_injection.inject import undo as undo_all
    from fault_injection.kinds import kind_named
    from fault_injection.spec import Fault

    target = app_named(app)
    fault = Fault(kind, at, strength or next(iter(kind_named(kind).strengths)))
    engine = DockerEngine(target.project)
    made = put_in_force(target, fault, engine)
    if json:
        emit(made)
    else:
        say(f"{kind} is in force at {at} ({fault.strength}): {made.verified_by}")
    if seconds is not None:
        try:
            time.sleep(seconds)
        finally:
            undo_all(target, engine)
            say(f"{kind} at {at} is undone")


def undo(app: AppOption = "shop", json: Json = False) -> None:
    """Undo every fault that is in force and see that its place answers again.

    \b
    Examples:
      revelio faults undo
    """
    from fault_injection.apps import app_named
    from fault_injection.engine import DockerEngine
    from fault_injection.inject import undo as undo_all

    target = app_named(app)
    done = undo_all(target, DockerEngine(target.project))
    if json:
        emit(done)
        return
    for one in done:
        say(f"{one.fault.kind} at {one.fault.place} is undone; it answered again after {one.recovered_after:.1f} s")
        for note in one.notes:
            say(f"  {note}")
    if not done:
        say("no fault is in force")
