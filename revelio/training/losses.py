"""The training objective: the probability of accepted queries, and of a fault."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from revelio.training.network import EMPTY, logsumexp

ANY_ACCEPTED = 0.3
"""Weight of the loss on any accepted query, relative to the loss on queries that show the cause."""
ABSTAIN = 0.5


def log_probabilities(tool: Tensor, template: Tensor, value: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    """``[N]``: log P(tool) + log P(template | tool) + log P(values | template), each normalised within its incident.

    For logits with a column for each of ``M`` networks (``[K, M]``, ``[T, M]``, ``[N, M]``) it is ``[N, M]``.
    """
    incident, at, of = inputs["incident_of_tool"], inputs["tool_of_template"], inputs["template_of_query"]
    log_tool = tool - logsumexp(tool, incident, inputs["report"])[incident]
    log_template = template - logsumexp(template, at, inputs["tool_text"])[at] + log_tool[at]
    return value - logsumexp(value, of, inputs["template_text"])[of] + log_template[of]


def objective(joint: Tensor, grades: Tensor, incident: Tensor, abstain: Tensor, faulty: Tensor) -> Tensor:
    """Mean over the incidents ``[B]``; ``joint``, ``grades`` and ``incident`` are per query ``[N]``.

    Incidents without an accepted query train the abstain logit only.
    """
    best = torch.zeros_like(abstain).scatter_reduce(0, incident, grades, "amax", include_self=True)[incident]
    loss = ABSTAIN * functional.binary_cross_entropy_with_logits(abstain, 1.0 - faulty)
    for accepted, weight in (((grades > 0) & (grades >= best), 1.0), (grades > 0, ANY_ACCEPTED)):
        mass = logsumexp(joint[accepted], incident[accepted], abstain.unsqueeze(-1))
        has = (mass > EMPTY / 2).float()
        loss = loss + weight * (-mass * has).sum() / has.sum().clamp(min=1.0)
    return loss
