"""``revelio bench``: the performance figures, each with its limit."""

from __future__ import annotations

from typing import Annotated

import typer

from revelio.cli.engine import ModelOption, open_service
from revelio.cli.output import Json, StepBars, emit, table


def bench(
    model: ModelOption = None,
    rounds: Annotated[int, typer.Option("--rounds", min=3, max=1000, help="Repetitions of each measurement.")] = 40,
    system: Annotated[str | None, typer.Option("--system", help="Also time snapshots of this live system.")] = None,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Measure the choice among a million candidates instead (a minute, 1 GB).")
    ] = False,
    json: Json = False,
) -> None:
    """Measure speed and memory on this machine with the recorded incidents. Run it on an idle machine.

    \b
    Examples:
      revelio bench
      revelio bench --rounds 200 --json
      revelio bench --system shop
      revelio bench --fleet
    """
    with StepBars() as bars:
        bars.report("load the model", 0, 1)
        from revelio.cli.measure import measure
        from revelio.cli.measure_fleet import measure_fleet

        service = open_service(model)
        figures = measure_fleet(service, bars.report) if fleet else measure(service, rounds, bars.report, system)
    if json:
        emit(figures)
        return
    rows = [
        (f.name, f"{f.value:.3g} {f.unit}", f"{f.limit:g} {f.unit}", "holds" if f.holds else "EXCEEDED", f.detail)
        for f in figures
    ]
    table("", ("figure", "measured", "limit", "", "how"), rows, numbers=(1, 2))
