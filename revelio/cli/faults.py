"""``revelio faults``: one fault on a running testbed."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from revelio.cli.output import Json, emit, say, table

_ABOUT = """One fault on a running testbed: injected, verified by a measurement, and undone.

A journal (var/faults) has each step before it runs, so that a fault can be undone even after its injector was
killed. One fault is active at a time: an active fault is undone before another is injected.

\b
Start here:
    revelio testbed up shop                             an application to break
    revelio faults list                                 what can be broken, where, and how strongly
    revelio faults inject cpu_quota --at cart --for 60
    revelio recommend "the cart takes ages" --system shop --run
    revelio faults undo                                 every active fault
"""

AppOption = Annotated[str, typer.Option("--app", help="An application of the testbed.")]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help=_ABOUT, no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(show)
    app.command("inject")(inject)
    app.command("undo")(undo)
    return app


def show(app: AppOption = "shop", json: Json = False) -> None:
    """List the kinds of faults with their places and strengths, and the active faults.

    The first strength of a kind is taken when none is given. With --json each kind also tells the figures behind its
    strengths, what is done to make it, and how long its measurement may take to show it.

    \b
    Examples:
      revelio faults list
      revelio faults list --app travel
      revelio faults list --json | jq '.kinds[] | select(.category == "network") | {kind, places}'
    """
    from fault_injection.apps import app_named
    from fault_injection.dataset.accepted_features import load_accepted_features
    from fault_injection.inject import open_faults
    from fault_injection.kinds import kinds

    target, features = app_named(app), load_accepted_features()
    active = open_faults(target)
    if json:
        does = {kind: mechanism.does for mechanism in features.mechanisms.values() for kind in mechanism.kinds}
        known = [
            {
                "kind": k.name,
                "category": k.category,
                "places": k.places(target),
                "strengths": tuple(k.strengths),
                "explanation": " ".join(k.explanation.split()),
                "figures": k.strengths,
                "made_by": does.get(k.name, "nothing is done"),
                "shown_within_s": k.settle_s,
            }
            for k in kinds()
        ]
        emit({"kinds": known, "active": active, "in_force": active})  # "in_force" is deprecated
        return
    groups = {
        "every part": target.places,
        "every service": target.services,
        "every call": tuple(f"{a}->{b}" for a, b in target.edges),
    }
    rows = []
    for k in kinds():
        places = k.places(target)
        words = next((name for name, group in groups.items() if set(group) == set(places)), ", ".join(places))
        rows.append((k.category, k.name, words, ", ".join(k.strengths), " ".join(k.explanation.split())))
    table("", ("category", "kind", "places", "strengths", "what it is"), rows)
    say(f"services of {app}: {', '.join(target.services)}; stores: {', '.join(target.stores)}")
    say(f"make one: revelio faults inject KIND --at PLACE --for 60{'' if app == 'shop' else f' --app {app}'}")
    for fault in active:
        say(f"active: {fault.kind} at {fault.place} ({fault.strength}); `revelio faults undo` ends it")


def inject(
    kind: Annotated[str, typer.Argument(help="A kind of `revelio faults list`: what goes wrong.")],
    at: Annotated[
        str, typer.Option("--at", metavar="PLACE", help="Where: a part (cart), a call (orders->payment) or a table, as listed.")
    ],
    strength: Annotated[str | None, typer.Option("--strength", help="Strength; the kind's first one when not given.")] = None,
    seconds: Annotated[float | None, typer.Option("--for", min=1, metavar="SECONDS", help="Undo it after this time.")] = None,
    app: AppOption = "shop",
    json: Json = False,
) -> None:
    """Inject one fault and verify that it took effect. Without --for it stays until `revelio faults undo`.

    An unknown kind, place or strength is refused before anything is done, and the known ones are listed. What does
    not bite within the kind's time is undone and reported as an error; so is whatever Ctrl-C interrupts.

    \b
    Examples:
      revelio faults inject cpu_quota --at cart
      revelio faults inject container_pause --at payment --for 30
      revelio faults inject partition --at "orders->payment" --for 30
      revelio faults inject delay --at gateway --strength moderate --app travel
    """
    from fault_injection.apps import app_named
    from fault_injection.docker_engine import DockerEngine
    from fault_injection.inject import inject as inject_fault
    from fault_injection.inject import undo as undo_all
    from fault_injection.kinds import kind_named
    from fault_injection.spec import Fault

    target = app_named(app)
    fault = Fault(kind, at, strength or next(iter(kind_named(kind).strengths)))
    engine = DockerEngine(target.project)
    made = inject_fault(target, fault, engine)
    if json:
        emit(made)
    else:
        say(f"{kind} is active at {at} ({fault.strength}): {made.verified_by}")
    if seconds is not None:
        try:
            time.sleep(seconds)
        finally:
            undo_all(target, engine)
            say(f"{kind} at {at} is undone")


def undo(app: AppOption = "shop", json: Json = False) -> None:
    """Undo every active fault and check that its target answers again.

    \b
    Examples:
      revelio faults undo
    """
    from fault_injection.apps import app_named
    from fault_injection.docker_engine import DockerEngine
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
        say("no fault is active")
