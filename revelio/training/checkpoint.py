"""Training state on disk as safetensors, written atomically."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from revelio.errors import ArtifactError


@dataclass(frozen=True, slots=True)
class Progress:
    """The losses of all finished epochs, and the best weights so far (empty without held-out incidents)."""

    losses: tuple[float, ...]
    best: dict[str, Tensor]


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, key: str) -> None:
    """Save a checkpoint. ``key`` identifies data and arguments; one of another key cannot be resumed."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items() if isinstance(value, Tensor)}
    tensors |= {f"best.{name}": value for name, value in progress.best.items()}
    part = path.with_suffix(".part")
    save_file(
        {name: value.detach().cpu().contiguous() for name, value in tensors.items()},
        part,
        {"key": key, "losses": json.dumps(progress.losses)},
    )
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)


def resume(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, key: str) -> Progress | None:
    """Load the state into model and optimizer; None without a checkpoint. ``ArtifactError`` for one of another ``key``."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            meta = file.metadata() or {}
            if meta.get("key") != key:
                raise ArtifactError(
                    f"{path}: made with other arguments or another dataset; repeat those, or delete it to start over"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
    except SafetensorError as error:
        raise ArtifactError(f"{path}: damaged checkpoint: {error}; delete it to start over") from error
    model.load_state_dict({n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")})
    state = optimizer.state_dict()
    state["state"] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, index, field = name.split(".", 2)
            state["state"].setdefault(int(index), {})[field] = tensor
    optimizer.load_state_dict(state)
    best = {n.removeprefix("best."): t for n, t in tensors.items() if n.startswith("best.")}
    return Progress(tuple(json.loads(meta["losses"])), best)
