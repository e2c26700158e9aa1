"""``revelio testbed``: the stack."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.foreign import testbed_errors
from revelio.cli.output import Json, console, emit, say, table

if TYPE_CHECKING:
    from testbed.stack import Measurement, Status

App = Annotated[str, typer.Argument(help="The application: shop, forum or travel.")]


class Images(StrEnum):
    """Where images come from."""

    AUTO = "auto"
    PULL = "pull"
    MAKE = "make"


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="An application with every backend, in Docker.", no_args_is_help=True, rich_markup_mode=None)
    app.command("up")(up)
    app.command("down")(down)
    app.command("status")(status)
    app.command("measure")(measure)
    return app


def up(
    app: App = "shop",
    images: Annotated[Images, typer.Option("--images", help="Pull images, build them here, or whichever works.")] = Images.AUTO,
    users: Annotated[bool, typer.Option("--users/--no-users", help="Also start the load generator and the probe users.")] = True,
    json: Json = False,
) -> None:
    """Bring one application up with its backends and users, and wait until all is healthy. Running containers stay as they are.

    The application is registered as a live system of this folder (var/systems.d), so that `--system` finds it at once.

    \b
    Examples:
      revelio testbed up shop
      revelio testbed up shop --images make --no-users
    """
    from fault_injection.testbed_system import system_of
    from revelio.settings.registered_systems import register

    with testbed_errors():
        from testbed.stack import up as bring_up
        from testbed.stack.console import shown

        with shown(console(stderr=True)) as progress:
            state = bring_up(app, images=images.value, with_users=users, progress=progress)
    register(app, system_of(app).model_dump(exclude_defaults=True))
    _print(state, json)


def down(app: App = "shop", json: Json = False) -> None:
    """Take the application down: containers, network, volumes and its registration as a live system are removed.

    \b
    Examples:
      revelio testbed down shop
    """
    from revelio.settings.registered_systems import unregister

    with testbed_errors():
        from testbed.stack import down as take_down
        from testbed.stack.console import shown

        with shown(console(stderr=True)) as progress:
            take_down(app, progress=progress)
    unregister(app)
    if json:
        emit({"app": app, "up": False})
    else:
        say(f"{app} is down")


def status(app: App = "shop", json: Json = False) -> None:
    """Show the state of the stack. Exits with 1 unless all of it is up.

    \b
    Examples:
      revelio testbed status shop
      revelio testbed status shop --json | jq '.endpoints[] | select(.answers | not)'
    """
    with testbed_errors():
        from testbed.stack import status as look

        state = look(app)
    _print(state, json)
    if not state.up:
        raise typer.Exit(1)


def measure(
    app: App = "shop",
    minutes: Annotated[float, typer.Option("--minutes", min=0.1, help="Minutes to measure.")] = 5.0,
    json: Json = False,
) -> None:
    """Measure a running stack: latency and outcomes of each feature, cost of each container. Exits with 1 when a limit is missed.

    \b
    Examples:
      revelio testbed measure shop
      revelio testbed measure forum --minutes 1 --json | jq .limits
    """
    with testbed_errors():
        from testbed.stack import measure as watch
        from testbed.stack.console import shown

        with shown(console(stderr=True)) as progress:
            measured = watch(app, 60 * minutes, progress)
    _print_measured(measured, json)
    if not all(limit.kept for limit in measured.limits):
        raise typer.Exit(1)


def _print_measured(measured: Measurement, json: bool) -> None:
    if json:
        from dataclasses import asdict

        emit(asdict(measured) | {"limits": [asdict(limit) for limit in measured.limits]})
        return
    rows = [
        (
            f.name,
            str(f.visits),
            f"{1000 * f.median:.0f}",
            f"{1000 * f.p95:.0f}",
            ", ".join(f"{n} {o}" for o, n in f.outcomes.items()),
        )
        for f in measured.features
    ]
    table("", ("feature", "visits", "median ms", "p95 ms", "outcomes"), rows)
    costs = [(c.service, c.role, f"{c.cores:.3f}", f"{c.memory / 2**20:.0f}") for c in measured.costs]
    table("", ("container", "role", "cores", "MiB"), costs)
    limits = [
        (x.name, f"{x.value:.2f} {x.unit}".strip(), f"{x.limit:g} {x.unit}".strip(), "kept" if x.kept else "missed")
        for x in measured.limits
    ]
    table("", ("limit", "measured", "limit", ""), limits)


def _print(state: Status, json: bool) -> None:
    if json:
        from dataclasses import asdict

        emit(asdict(state) | {"up": state.up})
        return
    if not state.containers:
        say(f"{state.project} is down; `revelio testbed up {state.app}` brings it up")
        return
    reached = {e.service: e for e in state.endpoints}
    rows = []
    for one in state.containers:
        at = reached.get(one.service)
        answers = "" if at is None else f"{at.url} {'answers' if at.answers else 'does not answer'}"
        rows.append((one.service, one.role, one.state, one.health, answers))
    table("", ("service", "role", "state", "health", "address"), rows)
    for user in state.users:
        say(f"users: {user.name} {'runs' if user.pid else 'does not run'}")
