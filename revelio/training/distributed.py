"""The processes that train together: one, unless torchrun started several (on one machine or on many)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from revelio.errors import InvalidInputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """This process's number among all, how many there are, and the device it works on."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and tells of progress."""
        return self.rank == 0

    def own(self, members: Sequence[T]) -> Sequence[T]:
        """This process's part of a batch; all of it where there are fewer members than processes."""
        return members[self.rank :: self.size] if len(members) >= self.size else members

    def together(self, network: nn.Module) -> nn.Module:
        """The network with gradients that are averaged over all processes at each step."""
        return network if self.size == 1 else DistributedDataParallel(network, broadcast_buffers=False)

    def agreed(self, value: float) -> float:
        """The leader's figure, so that all decide alike."""
        if self.size == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64, device=self.device)
        distributed.broadcast(told, 0)
        return float(told)

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            distributed.barrier()


@contextmanager
def process_group(device: str) -> Iterator[ProcessGroup]:
    """Join the processes that torchrun started, for the block. ``InvalidInputError`` when there is no such device."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError("device cuda was asked for, but torch sees no GPU; use --device cpu or auto")
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ProcessGroup(0, 1, torch.device("cuda" if cuda else "cpu"))
        return
    local = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local)
    distributed.init_process_group("nccl" if cuda else "gloo")
    try:
        yield ProcessGroup(distributed.get_rank(), distributed.get_world_size(), local)
    finally:
        distributed.destroy_process_group()
