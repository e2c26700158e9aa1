"""The report encoder learns how people report: texts about one symptom come to lie close, whoever wrote them.

It is taught by what the texts complain of (their cells, ``system/feature/symptom``), never by what was wrong, so that
nothing about causes or places reaches it. The objective is that of sentence-transformers' MultipleNegativesRankingLoss.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from revelio.encoders.report import MAX_TOKENS
from revelio.incidents.dataset import LabelledIncident
from revelio.training import checkpoint
from revelio.training.arguments import TrainArguments
from revelio.training.export import Pooled
from revelio.training.fit import seeded
from revelio.training.journal import Epoch, TrainingLog
from revelio.training.world import World

Told = tuple[str, str]
"""A text and its cell."""
Vectors = Callable[[Sequence[str]], Tensor]

BATCH = 32
LEARNING_RATE = 2e-5
SHARPNESS = 20.0
"""What cosines are multiplied by before the softmax, as sentence-transformers does."""
LEAST_CELLS, LEAST_TEXTS = 4, 40
"""With less there is nothing to tell apart, and the published encoder stays as it is."""


def tellings(incidents: Iterable[LabelledIncident]) -> list[Told]:
    """Every different text of the incidents that says what it complains of, in a fixed order."""
    return sorted({(r.text, r.cell) for i in incidents for r in i.record.reports if r.cell and r.text.strip()})


def enough(told: Sequence[Told]) -> bool:
    """Whether there is anything to learn from."""
    return len(told) >= LEAST_TEXTS and len({cell for _, cell in told}) >= LEAST_CELLS


def fine_tune(
    source: Path, told: Sequence[Told], out: Path, arguments: TrainArguments, key: str, world: World, log: TrainingLog
) -> None:
    """Write the encoder in ``source`` to ``out`` with the weights of the epoch that was best on a tenth of the texts held out.

    The epoch before the first counts too: an encoder that only gets worse stays as it was.
    """
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415  takes seconds to import

    torch.manual_seed(int(seeded(arguments.seed, "encoder")[:8], 16))
    transformer = AutoModel.from_pretrained(source, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = Pooled(transformer).to(world.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    shuffled = sorted(told, key=lambda t: seeded(arguments.seed, t[0]))
    held, learnt = shuffled[: len(told) // 10], shuffled[len(told) // 10 :]
    path = arguments.out / "encoder.checkpoint"
    done = checkpoint.resume(path, model, optimizer, key) if arguments.resume else None
    losses, best = (list(done.losses), dict(done.best)) if done else ([], {})

    def vectors(texts: Sequence[str]) -> Tensor:
        words = tokenizer(list(texts), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt").to(world.device)
        with torch.autocast(world.device.type, torch.bfloat16, enabled=world.device.type == "cuda"):
            found: Tensor = wrapped(words["input_ids"], words["attention_mask"])
        return found.float()

    wrapped = world.together(model)
    if not losses:
        losses.append(world.agreed(_held_out(model, held, learnt, vectors, arguments.seed)))
        best = _weights(model)
    steps = math.ceil(len(learnt) / BATCH)
    all_steps = steps * arguments.fine_tune
    for epoch in range(len(losses) - 1, arguments.fine_tune):
        began, total = time.monotonic(), 0.0
        rng = random.Random(seeded(arguments.seed, f"encoder/{epoch}"))
        torch.manual_seed(rng.getrandbits(31) + world.rank)
        model.train()
        order = rng.sample(learnt, len(learnt))
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = LEARNING_RATE * (1.0 - (epoch * steps + step) / all_steps)
            members = world.own(order[step * BATCH : (step + 1) * BATCH])
            loss = _contrast(members, _partners(members, learnt, rng), vectors)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += float(loss.detach())
            log.say(
                f"fine-tune the report encoder, loss {total / (step + 1):.3f}",
                epoch * steps + step + 1,
                steps * arguments.fine_tune,
            )
        losses.append(world.agreed(_held_out(model, held, learnt, vectors, arguments.seed)))
        if losses[-1] == min(losses):
            best = _weights(model)
        took, saving = time.monotonic() - began, 0.0
        if world.leads:
            checkpoint.save(path, model, optimizer, checkpoint.Progress(tuple(losses), best), key)
            saving = time.monotonic() - began - took
        log.note(
            Epoch(
                "encoder",
                epoch + 1,
                arguments.fine_tune,
                total / steps,
                losses[-1],
                LEARNING_RATE,
                round(took, 3),
                round(saving, 4),
            )
        )
    model.load_state_dict(best)
    if world.leads:
        transformer.save_pretrained(out)
        tokenizer.save_pretrained(out)
    world.wait()


def _partners(members: Sequence[Told], all_told: Sequence[Told], rng: random.Random) -> list[str]:
    """For each text another one of its cell, or the cell's own words where there is none (and now and then anyway)."""
    of_cell: dict[str, list[str]] = defaultdict(list)
    for text, cell in all_told:
        of_cell[cell].append(text)
    found = []
    for text, cell in members:
        others = [t for t in of_cell[cell] if t != text]
        found.append(rng.choice(others) if others and rng.random() < 0.7 else _words(cell))
    return found


def _words(cell: str) -> str:
    """``shop/checkout/wrong_data`` says: checkout, wrong data."""
    return ", ".join(re.sub(r"#\d+$", "", part).replace("_", " ").strip() for part in cell.split("/")[1:] if part != "_site")


def _contrast(members: Sequence[Told], partners: Sequence[str], vectors: Vectors) -> Tensor:
    """Each text is to find its partner among all partners; those of its own cell are no wrong answers."""
    both = vectors([*(t for t, _ in members), *partners])
    here, there = both[: len(members)], both[len(members) :]
    scores = SHARPNESS * here @ there.T
    cells = [cell for _, cell in members]
    same = torch.tensor([[a == b and i != j for j, b in enumerate(cells)] for i, a in enumerate(cells)], device=scores.device)
    scores = scores.masked_fill(same, float("-inf"))
    return functional.cross_entropy(scores, torch.arange(len(members), device=scores.device))


@torch.no_grad()
def _held_out(model: nn.Module, held: Sequence[Told], learnt: Sequence[Told], vectors: Vectors, seed: int) -> float:
    """The same objective on texts held out, with the same partners each time."""
    model.eval()
    rng = random.Random(seeded(seed, "partners"))
    losses = []
    for start in range(0, len(held), BATCH):
        members = held[start : start + BATCH]
        losses.append(float(_contrast(members, _partners(members, [*learnt, *held], rng), vectors)))
    return sum(losses) / len(losses)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
