"""Fine-tunes the report encoder: reports of one symptom move close to each other, independent of their writer.

The labels are symptoms (the cell of a report, ``system/feature/symptom``), never causes or locations of faults. The
objective is the MultipleNegativesRankingLoss of sentence-transformers.
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
from torch import Tensor
from torch.nn import functional

from revelio.encoders.report import MAX_TOKENS
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training import checkpoint
from revelio.training.arguments import TrainArguments
from revelio.training.distributed import ProcessGroup
from revelio.training.export import Pooled
from revelio.training.fit import seeded
from revelio.training.log import Epoch, TrainingLog

LabelledText = tuple[str, str]
"""A report and its cell."""
Vectors = Callable[[Sequence[str]], Tensor]

BATCH = 32
LEARNING_RATE = 2e-5
SCALE = 20.0
"""Cosines are multiplied by this before the softmax, as in sentence-transformers."""
MIN_CELLS, MIN_TEXTS = 4, 40
"""With fewer, the published encoder is kept."""


def labelled_texts(incidents: Iterable[LabelledIncident]) -> list[LabelledText]:
    """All distinct reports with a cell, in a fixed order."""
    return sorted({(r.text, r.cell) for i in incidents for r in i.record.reports if r.cell and r.text.strip()})


def enough(texts: Sequence[LabelledText]) -> bool:
    """Whether there are enough reports and cells to fine-tune on."""
    return len(texts) >= MIN_TEXTS and len({cell for _, cell in texts}) >= MIN_CELLS


def fine_tune(
    source: Path,
    texts: Sequence[LabelledText],
    out: Path,
    arguments: TrainArguments,
    key: str,
    group: ProcessGroup,
    log: TrainingLog,
) -> None:
    """Fine-tune the encoder in ``source`` and write it to ``out``, with the weights that are best on a held-out tenth.

    The published weights count as epoch 0: an encoder that only gets worse is kept unchanged.
    """
    torch.manual_seed(int(seeded(arguments.seed, "encoder")[:8], 16))
    encoder = _Encoder(source, group)
    shuffled = sorted(texts, key=lambda t: seeded(arguments.seed, t[0]))
    held, learned = shuffled[: len(texts) // 10], shuffled[len(texts) // 10 :]
    path = arguments.out / "encoder.checkpoint"
    done = checkpoint.resume(path, encoder.model, encoder.optimizer, key) if arguments.resume else None
    losses, best = (list(done.losses), dict(done.best)) if done else ([], {})
    log.resumed("encoder", max(0, len(losses) - 1), arguments.fine_tune)
    if not losses:
        losses.append(group.broadcast(_held_out(encoder, held, learned, arguments.seed)))
        best = encoder.weights()
    for epoch in range(len(losses) - 1, arguments.fine_tune):
        began = time.monotonic()
        loss = _epoch(encoder, learned, epoch, arguments, group, log)
        losses.append(group.broadcast(_held_out(encoder, held, learned, arguments.seed)))
        if losses[-1] == min(losses):
            best = encoder.weights()
        took, saving = time.monotonic() - began, 0.0
        if group.is_main:
            checkpoint.save(path, encoder.model, encoder.optimizer, checkpoint.Progress(tuple(losses), best), key)
            saving = time.monotonic() - began - took
        log.note(Epoch("encoder", epoch + 1, arguments.fine_tune, loss, losses[-1], LEARNING_RATE, took, saving))
    encoder.model.load_state_dict(best)
    if group.is_main:
        encoder.save(out)
    group.barrier()


class _Encoder:
    """The transformer with its tokenizer and optimizer, on the device of this process."""

    def __init__(self, source: Path, group: ProcessGroup) -> None:
        from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415  takes seconds to import

        self._transformer = AutoModel.from_pretrained(source, attn_implementation="eager")
        self._tokenizer = AutoTokenizer.from_pretrained(source)
        self._device = group.device
        self.model = Pooled(self._transformer).to(group.device)
        self._together = group.parallel(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """``[len(texts), D]``, each of length 1."""
        words = self._tokenizer(list(texts), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        words = words.to(self._device)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            found: Tensor = self._together(words["input_ids"], words["attention_mask"])
        return found.float()

    def learn(self, loss: Tensor, rate: float) -> float:
        """One optimizer step; returns the loss."""
        for settings in self.optimizer.param_groups:
            settings["lr"] = rate
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return float(loss.detach())

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights in main memory."""
        return {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}

    def save(self, out: Path) -> None:
        """Save as a transformers folder."""
        self._transformer.save_pretrained(out)
        self._tokenizer.save_pretrained(out)


def _epoch(
    encoder: _Encoder,
    learned: Sequence[LabelledText],
    epoch: int,
    arguments: TrainArguments,
    group: ProcessGroup,
    log: TrainingLog,
) -> float:
    """One pass over all texts; returns the mean loss. Its randomness depends on seed and epoch only."""
    rng = random.Random(seeded(arguments.seed, f"encoder/{epoch}"))
    torch.manual_seed(rng.getrandbits(31) + group.rank)
    encoder.model.train()
    order = rng.sample(learned, len(learned))
    steps, total = math.ceil(len(learned) / BATCH), 0.0
    of = steps * arguments.fine_tune
    for step in range(steps):
        so_far = epoch * steps + step
        members = group.shard(order[step * BATCH : (step + 1) * BATCH])
        loss = _contrast(members, _partners(members, learned, rng), encoder.vectors)
        total += encoder.learn(loss, LEARNING_RATE * (1.0 - so_far / of))
        log.say(f"fine-tune the report encoder, loss {total / (step + 1):.3f}", so_far + 1, of)
    return total / steps


def _partners(members: Sequence[LabelledText], texts: Sequence[LabelledText], rng: random.Random) -> list[str]:
    """For each text another one of its cell, or (also at random) the words of the cell."""
    of_cell: dict[str, list[str]] = defaultdict(list)
    for text, cell in texts:
        of_cell[cell].append(text)
    found = []
    for text, cell in members:
        others = [t for t in of_cell[cell] if t != text]
        found.append(rng.choice(others) if others and rng.random() < 0.7 else _words(cell))
    return found


def _words(cell: str) -> str:
    """``shop/checkout/wrong_data`` becomes ``checkout, wrong data``."""
    return ", ".join(re.sub(r"#\d+$", "", part).replace("_", " ").strip() for part in cell.split("/")[1:] if part != "_site")


def _contrast(members: Sequence[LabelledText], partners: Sequence[str], vectors: Vectors) -> Tensor:
    """Contrastive loss: each text against all partners; other partners of its own cell are not negatives."""
    both = vectors([*(t for t, _ in members), *partners])
    here, there = both[: len(members)], both[len(members) :]
    scores = SCALE * here @ there.T
    cells = [cell for _, cell in members]
    same = torch.tensor([[a == b and i != j for j, b in enumerate(cells)] for i, a in enumerate(cells)], device=scores.device)
    scores = scores.masked_fill(same, float("-inf"))
    return functional.cross_entropy(scores, torch.arange(len(members), device=scores.device))


@torch.no_grad()
def _held_out(encoder: _Encoder, held: Sequence[LabelledText], learned: Sequence[LabelledText], seed: int) -> float:
    """The loss on held-out texts, with the same partners each time."""
    encoder.model.eval()
    rng = random.Random(seeded(seed, "partners"))
    losses = []
    for start in range(0, len(held), BATCH):
        members = held[start : start + BATCH]
        losses.append(float(_contrast(members, _partners(members, [*learned, *held], rng), encoder.vectors)))
    return sum(losses) / len(losses)
