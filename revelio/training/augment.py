"""Data augmentation, so that the network depends on no single input and on no particular catalog."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from revelio.encoders.query import COMPONENT, FEATURES, OF_REPORT, OWN, RARITY
from revelio.training.batch import Example

TEMPLATE_DROPOUT = 0.6
"""Share of the examples that lose some of their templates."""
DROP_TEMPLATE, DROP_TOOL = 0.3, 0.1
"""Probability of dropping each template, and each tool with all of its templates, from such an example."""
READING_DROPOUT, REPORT_DROPOUT = 0.1, 0.1
"""Probability of dropping the readings of a template, and the report of an incident."""
NULL_DROPOUT = 0.5
"""Probability of replacing the rarity of a template by the pooled one, as for a template that training never saw."""
FEATURE_NOISE = 0.03
"""Standard deviation of the noise on features."""
ONSET_SHIFT = 0.4
"""Maximal delay of the onsets of an incident, as a share of the window."""
_RARITY, _RARITY_OVERALL = (FEATURES.index(name) for name in RARITY)
_OF_REPORT, _NO_REPORT = [FEATURES.index(name) for name in OF_REPORT], FEATURES.index("no_report")
_ONSETS = [FEATURES.index("onset"), FEATURES.index("from_onset")]


def template_dropout(example: Example, told: int, rng: random.Random) -> Example:
    """The example with only the report of index ``told``, and sometimes without some of its templates and tools.

    Other systems have other tools, and other causes show in other templates. At least one accepted query stays.
    """
    encoded = example.encodings[told]
    whole = replace(example, encodings=(encoded,))
    if rng.random() >= TEMPLATE_DROPOUT:
        return whole
    tool_stays = np.array([rng.random() >= DROP_TOOL for _ in encoded.tools])
    stays = np.array([rng.random() >= DROP_TEMPLATE for _ in encoded.templates]) & tool_stays[encoded.tool_of]
    left = stays[encoded.template_of]
    if not left.any() or (example.grades.any() and not example.grades[left].any()):
        return whole
    templates = np.flatnonzero(stays)
    tools, tool_of = np.unique(encoded.tool_of[templates], return_inverse=True)
    fewer = replace(
        encoded,
        queries=tuple(q for q, stay in zip(encoded.queries, left.tolist(), strict=True) if stay),
        tools=tuple(encoded.tools[i] for i in tools),
        templates=tuple(encoded.templates[i] for i in templates),
        tool_text=encoded.tool_text[tools],
        template_text=encoded.template_text[templates],
        tool_of=tool_of.astype(np.int64),
        features=encoded.features[left],
        template_of=np.searchsorted(templates, encoded.template_of[left]),
        near=np.unique(encoded.near[left], return_inverse=True)[1].astype(np.int64),
    )
    return replace(example, encodings=(fewer,), grades=example.grades[left], signals=example.signals[left])


def jitter(inputs: dict[str, Tensor], incident: Tensor, superposed: Tensor) -> dict[str, Tensor]:
    """A batch with noise on the features, and sometimes without the readings of a template or without the report.

    ``superposed [B]`` incidents keep their report, which alone tells which fault is meant.

    Sources go missing, reports can be empty, and some templates are unknown. The onsets of an incident are delayed together,
    because a reporter does not know the exact start as a recording does. ``incident [N]`` is the incident of each query.
    """
    features, report, components = (inputs[name].clone() for name in ("features", "report", "components"))
    device = features.device
    unknown = (torch.rand(len(inputs["template_text"]), device=device) < NULL_DROPOUT)[inputs["template_of_query"]]
    features[:, _RARITY] = torch.where(unknown, features[:, _RARITY_OVERALL], features[:, _RARITY])
    blind = torch.rand(len(inputs["template_text"]), device=device) < READING_DROPOUT
    features[:, : len(OWN)] *= (~blind[inputs["template_of_query"]]).float().unsqueeze(-1)
    silent = (torch.rand(len(report), device=device) < REPORT_DROPOUT) & ~superposed.to(device)
    report[silent] = 0.0
    features[:, _OF_REPORT] *= (~silent[incident]).float().unsqueeze(-1)
    features[:, _NO_REPORT] = torch.maximum(features[:, _NO_REPORT], silent[incident].float())
    features += FEATURE_NOISE * torch.randn_like(features)
    later = ONSET_SHIFT * torch.rand(len(report), device=device)
    of_component = inputs["incident_of_component"]
    for figures, columns, owner in ((features, _ONSETS, incident), (components, [COMPONENT.index("onset")], of_component)):
        onset = figures[:, columns]
        figures[:, columns] = torch.where(onset < 0.95, onset + later[owner].unsqueeze(-1), onset).clamp(max=1.0)
    return inputs | {"components": components, "features": features, "report": report}
