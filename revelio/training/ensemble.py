"""An ensemble of networks that differ in their random seed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from revelio.ranker.session import INPUTS
from revelio.training.losses import log_probabilities
from revelio.training.network import Network, logsumexp


class Ensemble(nn.Module):
    """The probability of a query is the mean over the members.

    Single networks are overconfident where they saw little data, each in another way (Lakshminarayanan et al., 2017,
    arXiv:1612.01474).
    """

    def __init__(self, members: Sequence[Network]) -> None:
        """``members`` have the same architecture."""
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As of one network: logits whose softmaxes multiply to the mean probability, and the mean abstain logit."""
        named = dict(zip(INPUTS, inputs, strict=True))
        tool, template, value, abstain = (
            torch.stack(same, dim=-1) for same in zip(*(member(*inputs) for member in self.members), strict=True)
        )
        joint = torch.logsumexp(log_probabilities(tool, template, value, named), dim=-1) - math.log(len(self.members))
        template = logsumexp(joint, named["template_of_query"], named["template_text"])
        tool = logsumexp(template, named["tool_of_template"], named["tool_text"])
        return tool, template, joint, abstain.mean(-1)
