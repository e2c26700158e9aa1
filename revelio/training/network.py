"""The network, in torch. Only training imports this; serving runs its ONNX export.

Report, evidence and queries meet in one space of ``width`` dimensions: the report and the texts of tools and templates
by one projection, the components of the evidence by another, and each candidate by its features and its template's
text. Each level's logit is a dot product with the context (report + evidence) plus a term of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from revelio.ranker.session import INPUTS

EMPTY = -1e4
"""Replaces minus infinity for empty groups: exactly zero after a softmax, and safe to multiply."""


class Network(nn.Module):
    """Logits of tools, templates and values, and of no fault (``abstain``)."""

    features_seen: Tensor
    component_seen: Tensor

    def __init__(self, text: int, features: int, component: int, width: int = 48, dropout: float = 0.2, factors: int = 3) -> None:
        """``text``, ``features`` and ``component`` are the lengths of the input vectors.

        ``factors`` below 3 are ablations: 2 chooses among all templates without a tool first, 1 among all queries at once.
        """
        super().__init__()
        self.factors = factors
        self.blind = False
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
        """Logits of ``tool [K]``, ``template [T]``, ``value [N]`` and ``abstain [B]``; the inputs are those of ``logits``.

        With fewer than three factors their softmaxes multiply to one over all templates, or over all queries.
        """
        tool, template, value, abstain = self.logits(*inputs)
        named = dict(zip(INPUTS, inputs, strict=True))
        if self.factors == 1:
            mass = logsumexp(value, named["template_of_query"], named["template_text"])
            template = template + tool[named["tool_of_template"]] + mass
        if self.factors < 3:
            tool = logsumexp(template, named["tool_of_template"], named["tool_text"])
        return tool, template, value, abstain

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
        """The logits of several concatenated incidents; index inputs map each item to its incident, tool or template.

        Shapes: ``report [B,D]``, ``tool_text [K,D]``, ``template_text [T,D]``, ``features [N,F]`` of the queries,
        ``components [M,G]``; ``near [N]`` numbers the component of each query below P, ``incident_of_near [P]`` is its incident.
        Returns ``tool [K]``, ``template [T]``, ``value [N]`` and ``abstain [B]`` logits.
        """
        if self.blind:
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
        value = self._value(asked, context, incident_of_template[template_of_query]) + self.value_read(features)[:, 0]

        asked_max = pooled_max(asked, template_of_query, template_words)
        asked_mean = pooled_mean(asked, template_of_query, template_words)
        best = pooled_max(features, template_of_query, template_text)
        templates = self.template(torch.cat([asked_max, asked_mean, template_words, said_to_template, best], dim=-1))
        template = (templates * self.template_bilinear(context)[incident_of_template]).sum(-1)
        template = template + self.template_own(templates)[:, 0]

        tool_words = torch.tanh(self.project_text(tool_text))
        spread_max = pooled_max(templates, tool_of_template, tool_words)
        spread_mean = pooled_mean(templates, tool_of_template, tool_words)
        tools = self.tool(torch.cat([spread_max, spread_mean, tool_words, said[incident_of_tool]], dim=-1))
        tool = (tools * self.tool_bilinear(context)[incident_of_tool]).sum(-1) + self.tool_own(tools)[:, 0]

        largest = pooled_max(components, incident_of_component, said)
        calm = torch.cat([said, seen_max, seen_mean, pooled_max(tools, incident_of_tool, said), largest], dim=-1)
        return tool, template, value, self.abstain(calm)[:, 0]

    def ignore(self, features: Sequence[bool], component: Sequence[bool]) -> None:
        """Set these inputs to 0, for ablations."""
        self.blind = any(features) or any(component)
        self.features_seen = 1.0 - torch.tensor(features, dtype=torch.float32)
        self.component_seen = 1.0 - torch.tensor(component, dtype=torch.float32)

    def _value(self, asked: Tensor, context: Tensor, incident: Tensor) -> Tensor:
        """``[N]``: each query against the context of its incident. Scoring all contexts and gathering is faster."""
        against = self.value_bilinear(context) + self.value_own.weight
        each: Tensor = asked @ against.T + self.value_own.bias
        return each.gather(1, incident.unsqueeze(-1))[:, 0]

    def _here(self, asked: Tensor, near: Tensor, incident_of_near: Tensor) -> Tensor:
        """``[P, W]``: a weighted mean over the queries of each component."""
        weight = torch.exp(self.weight_here(asked).clamp(-8.0, 8.0))
        like = incident_of_near.unsqueeze(-1).to(asked.dtype)
        return pooled_sum(weight * asked, near, like) / pooled_sum(weight, near, like).clamp(min=1e-6)


def pooled_max(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G, W]``: the maximum of the rows of ``values [N, W]`` of each group ``[N]``; 0 where a group has none.

    ``like`` is any tensor with a row for each group.
    """
    top = _scattered(_rows(like, values, EMPTY), group, values, "max")
    return torch.where(top > EMPTY / 2, top, 0.0)


def pooled_sum(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G, W]``: the sum of each group's rows."""
    return _scattered(_rows(like, values, 0.0), group, values, "add")


def pooled_mean(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G, W]``: the mean of each group's rows; 0 where it has none."""
    return pooled_sum(values, group, like) / pooled_sum(torch.ones_like(values[:, :1]), group, like).clamp(min=1.0)


def logsumexp(values: Tensor, group: Tensor, like: Tensor) -> Tensor:
    """``[G, W]``: log of the sum of exponentials of each group's rows of ``values [N, W]``; ``EMPTY`` where it has none.

    Of ``values [N]`` it is ``[G]``.
    """
    if values.dim() == 1:
        return logsumexp(values.unsqueeze(-1), group, like)[:, 0]
    top = pooled_max(values.detach(), group, like)
    total = pooled_sum(torch.exp(values - top[group]), group, like)
    return torch.where(total > 0, top + torch.log(total.clamp(min=1e-30)), EMPTY)


def _rows(like: Tensor, values: Tensor, filled: float) -> Tensor:
    """As many rows as ``like`` and columns as ``values``; keeps the number of rows dynamic in the export."""
    return like[:, :1] * 0.0 + torch.full((1, int(values.shape[1])), filled, device=values.device)


def _scattered(into: Tensor, group: Tensor, values: Tensor, reduction: Literal["max", "add"]) -> Tensor:
    """``into [G, W]`` reduced with the rows of ``values [N, W]`` of each group."""
    if torch.onnx.is_in_onnx_export():
        return cast(Tensor, _ScatterRows.apply(into, group, values, reduction))
    index = group.unsqueeze(-1).expand_as(values)
    if reduction == "add":  # deterministic on every device, unlike scatter_reduce
        return into.scatter_add(0, index, values)
    return into.scatter_reduce(0, index, values, "amax", include_self=True)


class _ScatterRows(torch.autograd.Function):
    """Exported as one ScatterND by row. The export of torch scatters element by element, which takes twice the time."""

    @staticmethod
    def forward(ctx: Any, into: Tensor, group: Tensor, values: Tensor, reduction: str) -> Tensor:
        return into.clone()

    @staticmethod
    def symbolic(graph: Any, into: Any, group: Any, values: Any, reduction: str) -> Any:
        last = graph.op("Constant", value_t=torch.tensor([-1]))
        found = graph.op("ScatterND", into, graph.op("Unsqueeze", group, last), values, reduction_s=reduction)
        return found.setType(into.type())
