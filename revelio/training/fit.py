"""Trains one network, with early stopping on held-out incidents."""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from revelio.encoders.query import COMPONENT, FEATURES
from revelio.ranker.scoring import Logits
from revelio.ranker.session import INPUTS, network_inputs
from revelio.training import checkpoint
from revelio.training.arguments import TrainArguments
from revelio.training.augment import jitter, template_dropout
from revelio.training.batch import Batch, Example, batch
from revelio.training.calibrate import Prediction
from revelio.training.distributed import ProcessGroup
from revelio.training.log import Epoch, TrainingLog
from revelio.training.losses import log_probabilities, objective
from revelio.training.network import Network

PRE_RUN_PROBABILITY = 0.4
"""Share of the batches in which some queries count as run before."""
CHECKPOINT_SHARE = 0.05
"""Most seconds of checkpoints per second of training: the state is saved after every epoch that takes long enough for that."""


def seeded(seed: int, text: str) -> str:
    """A hex digest that seeds everything random about ``text``."""
    return hashlib.sha256(f"{seed}/{text}".encode()).hexdigest()


def fit(
    known: Sequence[Example],
    held: Sequence[Example],
    part: str,
    arguments: TrainArguments,
    key: str,
    group: ProcessGroup,
    log: TrainingLog,
    start: Network | None = None,
    simulated: Sequence[Example] = (),
) -> Network:
    """Train for ``arguments.epochs``, or until the loss on ``held`` (if any) no longer falls; then keep the best weights.

    Training begins with the weights of ``start``, or with random ones. Each epoch has other ``simulated`` examples beside those
    ``known``.

    The randomness of an epoch depends on seed, part and epoch only, so that a resumed run gives the same weights.
    """
    torch.manual_seed(int(seeded(arguments.seed, part)[:8], 16))
    network = _network(known[0], arguments).to(group.device)
    if start is not None:
        network.load_state_dict(start.state_dict())
    optimizer = torch.optim.AdamW(network.parameters(), lr=arguments.learning_rate, weight_decay=arguments.weight_decay)
    path = arguments.out / f"{part}.checkpoint"
    done = checkpoint.resume(path, network, optimizer, key) if arguments.resume else None
    losses, best = (list(done.losses), dict(done.best)) if done else ([], {})
    log.resumed(part, len(losses), arguments.epochs)
    wrapped, saved, unsaved_s, saving_s = group.parallel(network), len(losses), 0.0, 0.0
    for epoch in range(len(losses), arguments.epochs):
        if held and epoch - _best_epoch(losses) >= arguments.patience:
            break
        began = time.monotonic()
        rng = random.Random(seeded(arguments.seed, f"{part}/{epoch}"))
        torch.manual_seed(rng.getrandbits(31) + group.rank)
        rate = arguments.learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / arguments.epochs))
        for settings in optimizer.param_groups:
            settings["lr"] = rate
        shown = [*known, *_beside(known, simulated, arguments, rng)]
        loss = _epoch(wrapped, network, optimizer, shown, arguments.batch_size, rng, group)
        losses.append(group.broadcast(held_out_loss(network, held, arguments.batch_size, group.device)) if held else loss)
        if held and _best_epoch(losses) == epoch + 1:
            best = {name: value.detach().clone() for name, value in network.state_dict().items()}
        took, saving = time.monotonic() - began, 0.0
        unsaved_s += took
        if group.is_main and saving_s <= CHECKPOINT_SHARE * unsaved_s:
            checkpoint.save(path, network, optimizer, checkpoint.Progress(tuple(losses), best), key)
            saved, unsaved_s, saving_s = len(losses), 0.0, time.monotonic() - began - took
            saving = saving_s
        log.note(Epoch(part, epoch + 1, arguments.epochs, loss, losses[-1] if held else None, rate, took, saving))
    if group.is_main and saved < len(losses):
        checkpoint.save(path, network, optimizer, checkpoint.Progress(tuple(losses), best), key)
    if best:
        network.load_state_dict(best)
    group.barrier()
    return network.eval()


@torch.no_grad()
def predict(network: nn.Module, example: Example, device: torch.device) -> list[Prediction]:
    """The output of the network for an example, one per report."""
    found = []
    for encoded in example.encodings:
        inputs = network_inputs([encoded])
        tool, template, value, abstain = network(*(torch.from_numpy(inputs[name]).to(device) for name in INPUTS))
        logits = Logits(tool.cpu().numpy(), template.cpu().numpy(), value.cpu().numpy(), float(abstain[0]))
        found.append(Prediction(encoded, logits, example.grades, example.faulty))
    return found


def _network(example: Example, arguments: TrainArguments) -> Network:
    network = Network(len(example.encodings[0].report), len(FEATURES), len(COMPONENT), factors=arguments.factors)
    network.ignore([n in arguments.blind_to for n in FEATURES], [n in arguments.blind_to for n in COMPONENT])
    return network


def _beside(
    known: Sequence[Example], simulated: Sequence[Example], arguments: TrainArguments, rng: random.Random
) -> list[Example]:
    """So many of the simulated examples that they are their share of both."""
    wanted = round(len(known) * arguments.simulated_share / (1.0 - arguments.simulated_share))
    return rng.sample(simulated, min(wanted, len(simulated))) if simulated else []


def _best_epoch(losses: Sequence[float]) -> int:
    """The epoch of the lowest loss, counted from 1; 0 without any."""
    return int(np.argmin(losses)) + 1 if losses else 0


def _epoch(
    wrapped: nn.Module,
    network: Network,
    optimizer: torch.optim.Optimizer,
    known: Sequence[Example],
    size: int,
    rng: random.Random,
    group: ProcessGroup,
) -> float:
    network.train()
    order = rng.sample(range(len(known)), len(known))
    total = 0.0
    for start in range(0, len(order), size):
        drawn = [(known[i], rng.randrange(len(known[i].encodings))) for i in order[start : start + size]]
        tried = rng.random() < PRE_RUN_PROBABILITY
        lot = random.Random(rng.getrandbits(32))
        members = [template_dropout(e, told, lot) for e, told in group.shard(drawn)]
        told = [0] * len(members)
        chunk = batch(members, told)
        if tried:
            chunk = batch(members, told, _simulated_runs(network, chunk, members, lot, group.device))
        inputs = jitter(
            _tensors(chunk, group.device), torch.from_numpy(chunk.incident).to(group.device), torch.from_numpy(chunk.superposed)
        )
        loss = _objective(wrapped, inputs, chunk, group.device)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        total += float(loss.detach()) * len(drawn)
    return total / len(known)


@torch.no_grad()
def held_out_loss(network: Network, held: Sequence[Example], size: int, device: torch.device) -> float:
    """Mean loss over the incidents, each with its first report."""
    network.eval()
    total = 0.0
    for start in range(0, len(held), size):
        members = held[start : start + size]
        chunk = batch(members, [0] * len(members))
        total += float(_objective(network, _tensors(chunk, device), chunk, device)) * len(members)
    return total / len(held)


def _tensors(chunk: Batch, device: torch.device) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value).to(device) for name, value in chunk.inputs.items()}


def _objective(network: nn.Module, inputs: dict[str, Tensor], chunk: Batch, device: torch.device) -> Tensor:
    tool, template, value, abstain = network(*(inputs[name] for name in INPUTS))
    joint = log_probabilities(tool, template, value, inputs)
    grades, incident, faulty = (torch.from_numpy(x).to(device) for x in (chunk.grades, chunk.incident, chunk.faulty))
    return objective(joint, grades, incident, abstain, faulty)


@torch.no_grad()
def _simulated_runs(
    network: Network, chunk: Batch, members: Sequence[Example], rng: random.Random, device: torch.device
) -> list[dict[int, float]]:
    """For each example one to three queries, sampled by their current probability, that do not show the cause."""
    network.eval()
    inputs = _tensors(chunk, device)
    tool, template, value, _ = network(*(inputs[name] for name in INPUTS))
    joint = log_probabilities(tool, template, value, inputs).cpu().numpy().astype(np.float64)
    network.train()
    tried = []
    for number, example in enumerate(members):
        chance = np.exp(joint[chunk.incident == number])
        chance[(example.grades >= 3) | ~np.isfinite(example.signals)] = 0.0
        some = min(rng.randint(1, 3), int((chance > 0).sum()))
        lot = np.random.default_rng(rng.getrandbits(32))
        picks = lot.choice(len(chance), some, replace=False, p=chance / chance.sum()) if some else ()
        tried.append({int(i): float(example.signals[i]) for i in picks})
    return tried
