"""The processes of a training run: one, unless torchrun started several (on one or more machines)."""

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
    """The rank of this process, the number of processes, and the device of this one."""

    rank: int
    size: int
    device: torch.device

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and reports progress."""
        return self.rank == 0

    def shard(self, members: Sequence[T]) -> Sequence[T]:
        """The part of a batch for this process; the whole batch when it has fewer members than processes."""
        return members[self.rank :: self.size] if len(members) >= self.size else members

    def parallel(self, network: nn.Module) -> nn.Module:
        """The network with gradients averaged over all processes."""
        return network if self.size == 1 else DistributedDataParallel(network, broadcast_buffers=False)

    def broadcast(self, value: float) -> float:
        """The value of the main process, so that all processes decide alike."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self.device)
        distributed.broadcast(shared, 0)
        return float(shared)

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            distributed.barrier()


@contextmanager
def process_group(device: str) -> Iterator[ProcessGroup]:
    """Join the processes that torchrun started, for the block. ``InvalidInputError`` when the device is not available."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError("torch finds no GPU for --device cuda; use --device cpu or auto")
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
