"""The network of the paper in torch: graph convolution over the tree of a query, one vector space for all inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from revelio.encoders.report import Floats
from revelio.training.evaluation.method import Floats as Doubles

WIDTH, EPOCHS, LEARNING_RATE = 64, 40, 2e-3


@dataclass(frozen=True, slots=True)
class Case:
    """One incident: context ``[2 D]`` (report, then logs), the trees' nodes as rows of ``words [V, D]``, and the candidates
    that are ``right``.

    ``trees [N, L]`` numbers each candidate's nodes, -1 where it has fewer; ``tools [N]`` numbers each candidate's tool;
    ``right [N]`` is empty where nothing was learned from it.
    """

    context: Floats
    words: Floats
    trees: NDArray[np.int64]
    tools: NDArray[np.int64]
    right: NDArray[np.bool_]


class PaperNetwork(nn.Module):
    """Report and logs in one space with queries: a tool's score, and a query's among its tool's, are dot products."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.context = nn.Sequential(nn.Linear(2 * dimension, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
        self.first, self.second = nn.Linear(dimension, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.of_tool, self.of_query = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.adjacency: dict[int, Tensor] = {}

    def forward(self, case: Case) -> Tensor:
        """Log-probability of each candidate, ``[N]``: log P(tool) + log P(query | tool)."""
        context = self.context(torch.from_numpy(case.context))
        vectors = self._queries(torch.from_numpy(case.words), torch.from_numpy(case.trees))
        tools = torch.from_numpy(case.tools)
        count = int(tools.max()) + 1
        member = nn.functional.one_hot(tools, count).float()
        per_tool = (member.T @ vectors) / member.sum(0).clamp(min=1.0).unsqueeze(1)
        log_tool = torch.log_softmax(self.of_tool(per_tool) @ context / WIDTH**0.5, dim=0)
        score = self.of_query(vectors) @ context / WIDTH**0.5
        total = torch.stack([torch.logsumexp(score[tools == k], dim=0) for k in range(count)])
        joint: Tensor = log_tool[tools] + score - total[tools]
        return joint

    def _queries(self, words: Tensor, trees: Tensor) -> Tensor:
        """A vector for each tree: two graph convolutions (Kipf and Welling, 2017) and the mean of its nodes."""
        there = (trees >= 0).float().unsqueeze(-1)
        nodes = self.first(words)[trees.clamp(min=0)] * there
        edges = self._edges(trees.shape[1])
        hidden = torch.relu(edges @ nodes) * there
        hidden = torch.relu(edges @ self.second(hidden)) * there
        return hidden.sum(1) / there.sum(1)

    def _edges(self, length: int) -> Tensor:
        """Symmetrically normalised adjacency: tool - template - each blank - its value, every node with itself."""
        if length not in self.adjacency:
            edges = torch.eye(length)
            pairs = [(0, 1), *((1, i) for i in range(2, length, 2)), *((i, i + 1) for i in range(2, length - 1, 2))]
            for a, b in pairs:
                edges[a, b] = edges[b, a] = 1.0
            scale = edges.sum(0).rsqrt()
            self.adjacency[length] = scale.unsqueeze(1) * edges * scale.unsqueeze(0)
        return self.adjacency[length]


def trained(cases: Sequence[Case], dimension: int, seed: int = 0) -> Callable[[Case], Doubles]:
    """Train on cases with a right candidate; returns the scoring function."""
    torch.manual_seed(seed)
    network = PaperNetwork(dimension)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    order = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for index in torch.randperm(len(cases), generator=order).tolist():
            right = torch.from_numpy(cases[index].right)
            loss = -torch.logsumexp(network(cases[index])[right], dim=0)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    network.eval()

    def score(case: Case) -> Doubles:
        with torch.no_grad():
            return np.asarray(network(case).double().numpy())

    return score
