"""The model card, written with the weights."""

from __future__ import annotations

from revelio.ranker.artifact import Manifest

_CARD = """# {name}

Ranks debugging queries for a bug report: P(tool | report, evidence) x P(template | tool, ...) x P(values | template, ...).

| | |
|---|---|
| trained on | dataset `{dataset}`, catalog `{catalog}`, seed {seed} |
| incidents, reports | {incidents:.0f}, {reports:.0f} |
| networks, whose mean probability it gives | {members:.0f} |
| out-of-fold top-1 / top-3 (train split, cross-validated) | {top1} / {top3} |
| report encoder | sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), int8 ONNX |
| calibration | abstain slope {slope:.2f}, offset {offset:.2f} |

Figures on the frozen test splits, beside the baselines: `revelio eval --baselines`.

## Intended use
To order the queries that an engineer runs first. A probability is that of the query among those that could be asked
of this system; the abstain score is the probability that nothing here points at a fault.

## Limits
Learnt from faults injected into a small testbed on one host under synthetic load. It reads English reports best.
It sees only what the configured tools show in the window and the baseline before it.
"""


def model_card(manifest: Manifest) -> str:
    """Markdown."""
    metrics = manifest.metrics
    return _CARD.format(
        name=manifest.name,
        dataset=manifest.dataset,
        catalog=manifest.catalog,
        seed=manifest.seed,
        incidents=metrics.get("train_incidents", 0.0),
        members=metrics.get("members", 1.0),
        reports=metrics.get("train_reports", 0.0),
        top1=metrics.get("held_out_top1", "not measured"),
        top3=metrics.get("held_out_top3", "not measured"),
        slope=manifest.abstain_slope,
        offset=manifest.abstain_offset,
    )
