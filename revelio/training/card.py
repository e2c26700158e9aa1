"""The model card, written with the weights."""

from __future__ import annotations

from collections.abc import Sequence

from revelio.ranker.artifact import Manifest

_CARD = """# {name}

Ranks debugging queries for a bug report: P(tool | report, evidence) x P(template | tool, ...) x P(values | template, ...).

| | |
|---|---|
| trained on | dataset `{dataset}`, catalog `{catalog}`, seed {seed} |
| incidents, reports | {incidents:.0f}, {reports:.0f} |
| superposed incidents (two faults at once) | {superposed:.0f} |
| networks in the ensemble | {members:.0f} |
| out-of-fold top-1 / top-3 of the networks (train split, cross-validated) | {top1} / {top3} |
| report encoder | sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), int8 ONNX{sources} |
| calibration | abstain slope {slope:.2f}, offset {offset:.2f} |

Figures on the frozen test splits, with the baselines: `revelio eval --baselines`.

## Intended use
Ranks the queries that an engineer runs first. The probability of a query is relative to all candidate queries of the
system; the no-fault probability says how likely the evidence shows no fault.

## Limits
Trained on faults injected into a small testbed on one host under synthetic load. English reports work best.
It sees only what the configured tools report for the window and the baseline before it.
"""


def model_card(manifest: Manifest, sources: Sequence[str] = ()) -> str:
    """Markdown. ``sources`` are those of the alerts that the report encoder was trained on."""
    metrics = manifest.metrics
    return _CARD.format(
        name=manifest.name,
        dataset=manifest.dataset,
        catalog=manifest.catalog,
        seed=manifest.seed,
        incidents=metrics.get("train_incidents", 0.0),
        superposed=metrics.get("superposed", 0.0),
        sources=f"; trained on alerts of {', '.join(sources)} as well" if sources else "",
        members=metrics.get("members", 1.0),
        reports=metrics.get("train_reports", 0.0),
        top1=metrics.get("held_out_top1", "not measured"),
        top3=metrics.get("held_out_top3", "not measured"),
        slope=manifest.abstain_slope,
        offset=manifest.abstain_offset,
    )
