"""An evaluation as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_COLUMNS = (
    ("top-3", "top3"),
    ("top-5", "top5"),
    ("any accepted, top-1", "accepted_top1"),
    ("any accepted, top-3", "accepted_top3"),
    ("template", "template_top1"),
    ("place", "place_top1"),
    ("MRR", "mrr"),
    ("confidence", "confidence"),
    ("ECE", "ece"),
    ("ECE by chance", "ece_chance"),
)


def page(found: Mapping[str, Any]) -> str:
    """Markdown of what ``revelio eval --json`` printed: a table for each split, with the model first and all others below."""
    head = (
        "# Figures of the bundled model\n\n"
        "From `make reference`, out of what `revelio eval --baselines --ablations --runs --json` printed for "
        f"`{found['model']}` on `{found['dataset']}`.\n"
        "Shares of incidents, each scored with all of its test reports, whose writers appear in no training text; with 95 % "
        "bootstrap intervals.\nA hit is a query of grade 3, one that shows the cause itself. The ECE by chance is what so few "
        "incidents would show were every probability exactly right. How to read them: "
        "[results](../results.md).\n"
    )
    return "\n".join((head, *_sections(found)))


def _sections(found: Mapping[str, Any]) -> Iterator[str]:
    methods: dict[str, Any] = {"**bundled model**": found["splits"], **found["baselines"], **found["ablations"]}
    for split in found["splits"]:
        own = {name: by_split[split] for name, by_split in methods.items() if split in by_split}
        first = next(iter(own.values()))
        rows: list[tuple[str, ...]]
        yield f"## {split}: {first['incidents']} incidents, {first['examples']} reports\n"
        if "auroc" in first:
            rows = [(name, "–" if f["auroc"] is None else f"{f['auroc']:.3f}", _interval(f, "auroc")) for name, f in own.items()]
            yield _table(("method", "AUROC of the abstain score", "95 %"), rows)
        else:
            rows = [
                (name, f"{f['top1']:.3f}", _interval(f, "top1"), *(f"{f[key]:.3f}" for _, key in _COLUMNS))
                for name, f in own.items()
            ]
            yield _table(("method", "top-1", "95 %", *(heading for heading, _ in _COLUMNS)), rows)
    if found["runs"]:
        most = len(next(iter(found["runs"].values()))["fixed"])
        yield "## Runs until the cause is shown\n"
        yield "Share of incidents whose cause is shown after so many runs: down the list, or with it ranked anew each time.\n"
        rows = [
            (split, name, *(f"{share:.3f}" for share in curve[key]))
            for split, curve in found["runs"].items()
            for name, key in (("as it was", "fixed"), ("ranked anew", "reranked"))
        ]
        yield _table(("split", "list", *map(str, range(1, most + 1))), rows)
    wrong = [k for k in found["kinds"] if k["top1"] < 1.0]
    if wrong:
        yield "## Kinds of fault that did not always come first\n"
        rows = [
            (k["split"], k["kind"], str(k["incidents"]), f"{k['top1']:.3f}", f"{k['top3']:.3f}", k["mistaken_for"]) for k in wrong
        ]
        yield _table(("split", "kind", "incidents", "top-1", "top-3", "most often taken for"), rows)


def _interval(figures: Mapping[str, Any], name: str) -> str:
    if name not in figures["ci95"]:
        return "–"
    low, high = figures["ci95"][name]
    return f"{low:.2f}–{high:.2f}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
