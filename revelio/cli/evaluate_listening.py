"""``revelio eval --listening``: what the report decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from revelio.cli.catalog import settings_catalog
from revelio.cli.engine import settings_with
from revelio.cli.gate import check_gate
from revelio.cli.output import StepBars, console, emit

if TYPE_CHECKING:
    from revelio.catalog import Catalog


def evaluate_listening(parts: Sequence[tuple[Path, Catalog | None]], model: Path | None, gate: Path | None, json: bool) -> None:
    """Print the first queries with the report, without it, with another one and with nonsense."""
    from revelio.ranker.artifact import load_ranker
    from revelio.systems.incidents.dataset import open_datasets
    from revelio.training.evaluation.listening import UNSEEN, listening
    from revelio.training.evaluation.tables import listening_table
    from revelio.training.evaluation.trained import Trained

    data, default = open_datasets(parts), settings_catalog()
    trained = Trained(load_ranker(settings_with(model).model, data.all_tools(default)))
    there = [x for x in data.read(UNSEEN) if x.record.fault]
    alone = [x for x in there if not x.record.run and x.record.notes and not x.record.noise]
    with StepBars() as bars:
        found = listening((x for x in there if x.record.run), alone, default, trained, bars.report)
    as_json = {"model": trained.name, "listening": [asdict(row) | {"worth": row.worth} for row in found]}
    if json:
        emit(as_json)
    else:
        console().print(f"{trained.name} on {data.name}", markup=False)
        console().print(listening_table(found))
    check_gate(gate, as_json)
