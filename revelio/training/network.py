"""The network, in torch. Only training imports this; serving runs its ONNX export.

Report, evidence and queries meet in one space of ``width`` dimensions: the report and the texts of tools and templates
by one projection, the components of the evidence by another, and each candidate by its features and its template's
text. Each level's logit is a dot product with the context (report + evidence) plus a term of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from revelio.ranker.session import INPUTS

EMPTY = -1e4
"""Stands in for minus infinity where there is nothing: exact zero after a softmax, and safe to multiply."""


class Network(nn.Module):
    """Logits of tools, templates and values, and of 'nothing points at a fault'."""

    features_seen: Tensor
    component_seen: Tensor

    def __init__(self, text: int, features: int, component: int, width: int = 48, dropout: float = 0.2, factors: int = 3) -> None:
        """``text``, ``features`` and ``component`` are the lengths of the input vectors.

        ``factors`` below 3 are ablations: 2 chooses among all templates without choosing a tool, 1 among all queries at once.
        """
        super().__init__()
        self.factors = factors
        self.register_buffer("features_seen", torch.ones(features))
        self.register_buffer("component_seen", torch.ones(component))
        self.project_text = nn.Linear(text, width)
        self.encode_component = nn.Sequential(nn.Linear(component, width), nn.GELU(), nn.Linear(width, width))
        self.candidate_features = nn.Linear(features, width)
        self.candidate = nn.Sequential(nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width), nn.GELU())
        self.weight_here = nn.Linear(width, 1)
        self.alone, self.beside = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.with_here = nn.Sequential(nn.GELU(), nn.Dropout(dropout))
        self.template = nn.Sequential(nn.Linear(4 * width + features, width), nn.GELU(), nn.Dropout(dropout))
        self.tool = nn.Sequential(nn.Linear(4 * width, width), nn.GELU(), nn.Dropout(dropout))
        self.context = nn.Linear(3 * width, width)
        self.value_bilinear = nn.Linear(width, width, bias=False)
        self.template_bilinear = nn.Linear(width, width, bias=False)
        self.tool_bilinear = nn.Linear(width, width, bias=False)
        self.value_own, self.value_read = nn.Linear(width, 1), nn.Linear(features, 1, bias=False)
        self.template_own = nn.Linear(width, 1)
        self.tool_own = nn.Linear(width, 1)
        self.abstain = nn.Sequential(nn.Linear(4 * width + component, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, 1))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Logits of ``tool [K]``, ``template [T]``, ``value [N]`` and ``abstain [B]``; the inputs are those of ``logits``."""
        return self.merged(self.logits(*inputs), inputs)

    def logits(
        self,
        report: Tensor,
        tool_text: Tensor,
        template_text: Tensor,
        features: Tensor,
        components: Tensor,
        incident_of_tool: Tensor,
        tool_of_template: Tensor,
        template_of_query: Tensor,
        incident_of_component: Tensor,
        near: Tensor,
        incident_of_near: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What the network itself says of several incidents end to end: whatever belongs together points to what it belongs to.

        Shapes: ``report [B,D]``, ``tool_text [K,D]``, ``template_text [T,D]``, ``features [N,F]`` of the queries,
        ``components [M,G]``; ``near [N]`` is one number below P for all queries of an incident that ask of one component, and
        ``incident_of_near [P]`` that incident.
        Gives ``tool [K]``, ``template [T]``, ``value [N]`` and ``abstain [B]`` logits.
        """
        features, components = features * self.features_seen, components * self.component_seen
        incident_of_template = incident_of_tool[tool_of_template]
        said = torch.tanh(self.project_text(report))
        seen = self.encode_component(components)
        seen_max, seen_mean = pooled_max(seen, incident_of_component, said), pooled_mean(seen, incident_of_component, said)
        context = self.context(torch.cat([said, seen_max, seen_mean], dim=-1))

        template_words = torch.tanh(self.project_text(template_text))
        said_to_template = said[incident_of_template]
        asked = self.candidate(self.candidate_features(features) + (template_words + said_to_template)[template_of_query])
        here = self._here(asked, near, incident_of_near)
        asked = asked + self.with_here(self.alone(asked) + self.beside(here)[near])
        value = (asked * self.value_bilinear(context)[incident_of_template[template_of_query]]).sum(-1)
        value = value + (self.value_own(asked) + self.value_read(features)).squeeze(-1)

        asked_max = pooled_max(asked, template_of_query, template_words)
        asked_mean = pooled_mean(asked, template_of_query, template_words)
        best = pooled_max(features, template_of_query, template_words)
        templates = self.template(torch.cat([asked_max, asked_mean, template_words, said_to_template, best], dim=-1))
        template = (templates * self.template_bilinear(context)[incident_of_template]).sum(-1)
        template = template + self.template_own(templates).squeeze(-1)

        tool_words = torch.tanh(self.project_text(tool_text))
        spread_max = pooled_max(templates, tool_of_template, tool_words)
        spread_mean = pooled_mean(templates, tool_of_template, tool_words)
        tools = self.tool(torch.cat([spread_max, spread_mean, tool_words, said[incident_of_tool]], dim=-1))
        tool = (tools * self.tool_bilinear(context)[incident_of_tool]).sum(-1) + self.tool_own(tools).squeeze(-1)

        furthest = pooled_max(components, incident_of_component, said)
        calm = torch.cat([said, seen_max, seen_mean, pooled_max(tools, incident_of_tool, said), furthest], dim=-1)
        return tool, template, value, self.abstain(calm).squeeze(-1)

    def ignore(self, features: Sequence[bool], component: Sequence[bool]) -> None:
        """Be blind to these inputs: for ablations."""
        self.features_seen = 1.0 - torch.tensor(features, dtype=torch.float32)
        self.component_seen = 1.0 - torch.tensor(component, dtype=torch.float32)

    def merged(
        self, logits: tuple[Tensor, Tensor, Tensor, Tensor], inputs: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """With fewer than three factors, logits whose factors multiply to one softmax over all templates, or over all queries."""
        tool, template, value, abstain = logits
        tool_of_template, template_of_query = (inputs[INPUTS.index(name)] for name in ("tool_of_template", "template_of_query"))
        if self.factors == 1:
            template = template + tool[tool_of_template] + logsumexp(value, template_of_query, template)
        if self.factors < 3:
            tool = logsumexp(template, tool_of_template, tool)
        return tool, template, value, abstain

    def _here(self, asked: Tensor, near: Tensor, incident_of_near: Tensor) -> Tensor:
        """``[P, W]``: what all that ask of one component see together, their mean weighted by what they are."""
        weight = torch.exp(self.weight_here(asked).clamp(-8.0, 8.0))
        group, like = near.unsqueeze(-1), incident_of_near.unsqueeze(-1).to(asked.dtype)
        total = _rows(like, asked).scatter_add(0, group.expand_as(asked), weight * asked)
        share = torch.zeros_like(like).scatter_add(0, group, weight)
        return total / share.clamp(min=1e-6)


class Committee(nn.Module):
    """Networks that chance alone tells apart; what they say is the mean of their logits.

    Each is sure of itself where it has seen little, and each in another way (Lakshminarayanan et al., 2017, arXiv:1612.01474).
    """

    def __init__(self, members: Sequence[Network]) -> None:
        """``members`` are alike but for their weights."""
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As a network's."""
        members = [cast(Network, member) for member in self.members]
        said = [member.logits(*inputs) for member in members]
        tool, template, value, abstain = (torch.stack(same).mean(0) for same in zip(*said, strict=True))
        return members[0].merged((tool, template, value, abstain), inputs)


def pooled_max(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G, W]``: the maximum of the rows of ``values [N, W]`` of each group ``[N]``; 0 where a group has none.

    ``like`` is any tensor with a row for each group.
    """
    empty = _rows(like, values) + EMPTY
    top = empty.scatter_reduce(0, group.unsqueeze(-1).expand_as(values), values, "amax", include_self=True)
    return torch.where(top > EMPTY / 2, top, torch.zeros_like(top))


def pooled_mean(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G, W]``: the mean of each group's rows; 0 where it has none."""
    total = _rows(like, values).scatter_add(0, group.unsqueeze(-1).expand_as(values), values)
    count = _rows(like, values[:, :1]).scatter_add(0, group.unsqueeze(-1), torch.ones_like(values[:, :1]))
    return total / count.clamp(min=1.0)


def logsumexp(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G]``: log of the sum of exponentials of each group's ``values [N]``; ``EMPTY`` where it has none."""
    empty = torch.full_like(like, EMPTY)
    top = empty.scatter_reduce(0, group, values.detach(), "amax", include_self=True)
    total = torch.zeros_like(like).scatter_add(0, group, torch.exp(values - top[group]))
    return torch.where(total > 0, top + torch.log(total.clamp(min=1e-30)), empty)


def _rows(like: Tensor, values: Tensor) -> Tensor:
    """Zeros with as many rows as ``like`` and columns as ``values``; made so that an export keeps both lengths free."""
    return torch.zeros_like(like[:, :1]).expand(-1, values.shape[1]).clone()
