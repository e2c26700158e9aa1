"""An evaluation as one self-contained HTML page: a table and bars for each split, reliability diagrams of the model."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from revelio.training.evaluation.results import ControlFigures, Evaluation, FaultFigures

SHARES = {
    "top1": "top-1",
    "top3": "top-3",
    "top5": "top-5",
    "accepted_top1": "any 1",
    "accepted_top3": "any 3",
    "template_top1": "template",
    "place_top1": "place",
    "mrr": "MRR",
    "average_rank": "rank",
    "confidence": "confidence",
    "ece": "ECE",
    "ece_chance": "by chance",
}


def page(evaluation: Evaluation) -> str:
    """The page; every name in it is escaped."""
    methods = evaluation.by_method
    faults: dict[str, dict[str, FaultFigures]] = {}
    controls: dict[str, dict[str, ControlFigures]] = {}
    for split in evaluation.splits:
        for name, by_split in methods.items():
            figures = by_split.get(split)
            if isinstance(figures, FaultFigures):
                faults.setdefault(split, {})[name] = figures
            elif isinstance(figures, ControlFigures):
                controls.setdefault(split, {})[name] = figures
    environment = Environment(
        loader=PackageLoader("revelio.training.evaluation", "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
    )
    return environment.get_template("evaluation.html").render(
        evaluation=evaluation, faults=faults, controls=controls, shares=SHARES
    )
