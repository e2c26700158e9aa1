"""Incidents as they might have been as well, so that the network leans on no single input and on no particular catalog."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from revelio.encoders.query import COMPONENT, FEATURES, OWN, RARITY, TEXT
from revelio.training.batch import Example

TEMPLATE_DROPOUT = 0.6
"""Share of the examples that are learnt from with some of their templates only."""
DROP_TEMPLATE, DROP_TOOL = 0.3, 0.1
"""How likely each template, and each tool with all of its templates, is then not there."""
READING_DROPOUT, REPORT_DROPOUT = 0.1, 0.1
"""How likely a template's own readings, and an incident's report, are not there."""
NULL_DROPOUT = 0.5
"""How likely nothing is known of what is usual for a template but what all do together, as for one that training never saw."""
FEATURE_NOISE = 0.03
ONSET_SHIFT = 0.4
_RARITY, _RARITY_OVERALL = (FEATURES.index(name) for name in RARITY)
_ONSETS = [FEATURES.index("onset"), FEATURES.index("from_onset")]


def template_dropout(example: Example, told: int, rng: random.Random) -> Example:
    """The example with the report ``told`` alone and, now and then, without some of its templates and tools.

    What is right among those that are left is learnt then: other systems have other tools, and other causes show in other
    templates. Never is everything that was accepted taken away.
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


def jitter(inputs: dict[str, Tensor], incident: Tensor) -> dict[str, Tensor]:
    """A batch in which now and then a template's own reading, or the whole report, is not there; figures tremble a little.

    Sources do fall silent, and reports do say nothing; of some templates nothing is known but what is usual for all together.
    All onsets of an incident come later by as much: nobody who reports knows when exactly it began, as a recorded window does.
    ``incident [N]`` is of the queries.
    """
    features, report, components = (inputs[name].clone() for name in ("features", "report", "components"))
    device = features.device
    unknown = (torch.rand(len(inputs["template_text"]), device=device) < NULL_DROPOUT)[inputs["template_of_query"]]
    features[:, _RARITY] = torch.where(unknown, features[:, _RARITY_OVERALL], features[:, _RARITY])
    blind = torch.rand(len(inputs["template_text"]), device=device) < READING_DROPOUT
    features[:, : len(OWN)] *= (~blind[inputs["template_of_query"]]).float().unsqueeze(-1)
    silent = torch.rand(len(report), device=device) < REPORT_DROPOUT
    report[silent] = 0.0
    first = FEATURES.index(TEXT[0])
    features[:, first : first + len(TEXT)] *= (~silent[incident]).float().unsqueeze(-1)
    features += FEATURE_NOISE * torch.randn_like(features)
    later = ONSET_SHIFT * torch.rand(len(report), device=device)
    of_component = inputs["incident_of_component"]
    for figures, columns, owner in ((features, _ONSETS, incident), (components, [COMPONENT.index("onset")], of_component)):
        onset = figures[:, columns]
        figures[:, columns] = torch.where(onset < 0.95, onset + later[owner].unsqueeze(-1), onset).clamp(max=1.0)
    return inputs | {"components": components, "features": features, "report": report}
