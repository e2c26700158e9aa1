"""The training objective: the probability mass on accepted queries, and whether there is anything to find."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from revelio.training.network import EMPTY

ANY_ACCEPTED = 0.3
"""Weight of 'any accepted query' beside 'a query that shows the cause itself'."""
ABSTAIN = 0.5


def log_probabilities(tool: Tensor, template: Tensor, value: Tensor, member: Tensor, mask: Tensor) -> Tensor:
    """``[B, T, C]``: log P(tool) + log P(template | tool) + log P(values | template); ``EMPTY`` at padded places."""
    log_tool = torch.log_softmax(tool, dim=-1)
    among = torch.where(member > 0, template.unsqueeze(1), torch.full_like(member, EMPTY))
    total = torch.logsumexp(among, dim=-1)
    log_template = template - (member * total.unsqueeze(-1)).sum(1) + (member * log_tool.unsqueeze(-1)).sum(1)
    joint = log_template.unsqueeze(-1) + torch.log_softmax(value, dim=-1)
    return torch.where(mask > 0, joint, torch.full_like(joint, EMPTY))


def objective(joint: Tensor, grades: Tensor, abstain: Tensor, faulty: Tensor) -> Tensor:
    """Mean over the batch. Incidents without an accepted query train the abstain logit only."""
    best = grades.flatten(1).amax(1)[:, None, None]
    loss = ABSTAIN * functional.binary_cross_entropy_with_logits(abstain, 1.0 - faulty)
    for accepted, weight in (((grades > 0) & (grades >= best), 1.0), (grades > 0, ANY_ACCEPTED)):
        mass = torch.where(accepted, joint, torch.full_like(joint, 2 * EMPTY)).flatten(1)
        has = accepted.flatten(1).any(1).float()
        loss = loss + weight * (-torch.logsumexp(mass, dim=1) * has).sum() / has.sum().clamp(min=1.0)
    return loss
