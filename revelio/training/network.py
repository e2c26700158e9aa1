"""The network, in torch. Only training imports this; serving runs its ONNX export.

Report, evidence and queries meet in one space of ``width`` dimensions: the report and the texts of tools and templates
by one projection, the components of the evidence by another, and each candidate by its features and its template's
text. Each level's logit is a dot product with the context (report + evidence) plus a term of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

EMPTY = -1e4
"""Stands in for minus infinity at padded places: exact zero after a softmax, and safe to multiply."""


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
        self.with_here = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Dropout(dropout))
        self.template = nn.Sequential(nn.Linear(4 * width + features, width), nn.GELU(), nn.Dropout(dropout))
        self.tool = nn.Sequential(nn.Linear(4 * width, width), nn.GELU(), nn.Dropout(dropout))
        self.context = nn.Linear(3 * width, width)
        self.value_bilinear = nn.Linear(width, width, bias=False)
        self.template_bilinear = nn.Linear(width, width, bias=False)
        self.tool_bilinear = nn.Linear(width, width, bias=False)
        self.value_own = nn.Linear(width + features, 1)
        self.template_own = nn.Linear(width, 1)
        self.tool_own = nn.Linear(width, 1)
        self.abstain = nn.Sequential(nn.Linear(4 * width + component, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, 1))

    def forward(
        self,
        report: Tensor,
        tool_text: Tensor,
        template_text: Tensor,
        member: Tensor,
        features: Tensor,
        mask: Tensor,
        components: Tensor,
        component_mask: Tensor,
        near: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Batched shapes: ``report [B,D]``, ``tool_text [B,K,D]``, ``template_text [B,T,D]``, ``member [B,K,T]`` (1 where
        the template is the tool's), ``features [B,T,C,F]``, ``mask [B,T,C]``, ``components [B,M,G]``, ``component_mask [B,M]``,
        ``near [B,T,C]`` (candidates of one component share a number below T x C).
        Gives ``tool [B,K]``, ``template [B,T]``, ``value [B,T,C]`` and ``abstain [B]`` logits; padded places are ``EMPTY``.
        """
        features, components = features * self.features_seen, components * self.component_seen
        said = torch.tanh(self.project_text(report))
        seen = self.encode_component(components)
        seen_max = pooled_max(seen, component_mask.unsqueeze(-1), 1)
        seen_mean = pooled_mean(seen, component_mask.unsqueeze(-1), 1)
        context = self.context(torch.cat([said, seen_max, seen_mean], dim=-1))

        template_words = torch.tanh(self.project_text(template_text))
        asked = self.candidate(self.candidate_features(features) + (template_words + said.unsqueeze(1)).unsqueeze(2))
        some = mask.unsqueeze(-1)
        asked = asked + self.with_here(torch.cat([asked, self._here(asked, some, near)], dim=-1))
        value = (asked * self.value_bilinear(context)[:, None, None, :]).sum(-1)
        value = value + self.value_own(torch.cat([asked, features], dim=-1)).squeeze(-1)
        value = torch.where(mask > 0, value, torch.full_like(value, EMPTY))

        best = pooled_max(features, some, 2)
        of_template = torch.cat([pooled_max(asked, some, 2), pooled_mean(asked, some, 2), template_words], dim=-1)
        of_template = torch.cat([of_template, said.unsqueeze(1).expand_as(template_words), best], dim=-1)
        templates = self.template(of_template)
        template = (templates * self.template_bilinear(context).unsqueeze(1)).sum(-1) + self.template_own(templates).squeeze(-1)

        owned = member.unsqueeze(-1)
        spread = templates.unsqueeze(1)
        tool_words = torch.tanh(self.project_text(tool_text))
        of_tool = torch.cat([pooled_max(spread, owned, 2), pooled_mean(spread, owned, 2), tool_words], dim=-1)
        tools = self.tool(torch.cat([of_tool, said.unsqueeze(1).expand_as(tool_words)], dim=-1))
        tool = (tools * self.tool_bilinear(context).unsqueeze(1)).sum(-1) + self.tool_own(tools).squeeze(-1)
        tool = torch.where(member.sum(-1) > 0, tool, torch.full_like(tool, EMPTY))

        furthest = pooled_max(components, component_mask.unsqueeze(-1), 1)
        calm = torch.cat([said, seen_max, seen_mean, tools.amax(1), furthest], dim=-1)
        if self.factors < 3:
            tool, template = self._merged(tool, template, value, member)
        return tool, template, value, self.abstain(calm).squeeze(-1)

    def ignore(self, features: Sequence[bool], component: Sequence[bool]) -> None:
        """Be blind to these inputs: for ablations."""
        self.features_seen = 1.0 - torch.tensor(features, dtype=torch.float32)
        self.component_seen = 1.0 - torch.tensor(component, dtype=torch.float32)

    def _merged(self, tool: Tensor, template: Tensor, value: Tensor, member: Tensor) -> tuple[Tensor, Tensor]:
        """Logits whose factors multiply to one softmax over all templates, or over all queries."""
        if self.factors == 1:
            template = template + (member * tool.unsqueeze(-1)).sum(1) + torch.logsumexp(value, dim=-1)
        among = torch.where(member > 0, template.unsqueeze(1), torch.full_like(member, EMPTY))
        return torch.logsumexp(among, dim=-1), template

    def _here(self, asked: Tensor, some: Tensor, near: Tensor) -> Tensor:
        """For each candidate, what all that are bound to its component see together: their mean, weighted by what they are."""
        flat, present = asked.flatten(1, 2), some.flatten(1, 2)
        weight = torch.exp(self.weight_here(flat).clamp(-8.0, 8.0)) * present
        group = near.long().flatten(1).unsqueeze(-1)
        total = torch.zeros_like(flat).scatter_add(1, group.expand_as(flat), weight * flat)
        share = torch.zeros_like(weight).scatter_add(1, group, weight)
        mean = (total / share.clamp(min=1e-6)).gather(1, group.expand_as(flat))
        return mean.view_as(asked)


def pooled_max(values: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Maximum over the places where ``mask`` is 1; 0 where there is none."""
    top = torch.where(mask > 0, values, torch.full_like(values, EMPTY)).amax(dim)
    return torch.where(top > EMPTY / 2, top, torch.zeros_like(top))


def pooled_mean(values: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Mean over the places where ``mask`` is 1; 0 where there is none."""
    return (values * mask).sum(dim) / mask.sum(dim).clamp(min=1.0)
