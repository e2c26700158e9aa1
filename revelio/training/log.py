"""The training log: one line of JSON per epoch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LOG = "training.jsonl"

Report = Callable[[str, int, int], None]
"""Called with the current step in words, how much of it is done, and of how much; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of one part of the training (``encoder``, ``fold-0`` ..., ``final``). Losses are means per incident."""

    part: str
    epoch: int
    of: int
    loss: float
    held_out: float | None
    learning_rate: float
    seconds: float
    checkpoint_seconds: float = 0.0


class TrainingLog:
    """Appends epochs to ``training.jsonl`` and reports progress; does neither in other processes than the main one."""

    def __init__(self, path: Path | None, progress: Report, epochs: Iterable[Epoch] = ()) -> None:
        """``epochs`` are those before a resume."""
        self._path = path
        self._progress = progress
        self._epochs = list(epochs)

    @property
    def seconds(self) -> float:
        """Seconds of training and checkpoints so far, including those before a resume."""
        return sum(epoch.seconds + epoch.checkpoint_seconds for epoch in self._epochs)

    @property
    def checkpoint_share(self) -> float:
        """Seconds of checkpoints per second of training."""
        learning = sum(epoch.seconds for epoch in self._epochs)
        return (self.seconds - learning) / learning if learning else 0.0

    @classmethod
    def begin(cls, out: Path, progress: Report, *, is_main: bool, resume: bool) -> TrainingLog:
        """Start a new log, or continue the log of a resumed run."""
        if not is_main:
            return cls(None, lambda what, done, total: None)
        epochs = []
        if not resume:
            (out / LOG).unlink(missing_ok=True)
        elif (out / LOG).is_file():
            for line in (out / LOG).read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # a partial last line of a killed run
                    epochs.append(Epoch(**json.loads(line)))
        log = cls(out / LOG, progress, epochs)
        if epochs:
            log._write()
        return log

    def resumed(self, part: str, epoch: int, of: int) -> None:
        """A part goes on after that epoch, 0 where it begins: later ones that the log holds are done again."""
        if epoch:
            self._progress(f"train {part}, resumed", epoch, of)
        kept = [e for e in self._epochs if e.part != part or e.epoch <= epoch]
        if len(kept) < len(self._epochs):
            self._epochs = kept
            self._write()

    def say(self, what: str, done: int, total: int) -> None:
        """Report progress other than an epoch."""
        self._progress(what, done, total)

    def each(self, what: str, items: Iterable[T]) -> Iterator[T]:
        """The items, reported as they are taken."""
        done = 0
        for done, item in enumerate(items, 1):
            yield item
            self._progress(what, done, 0)
        self._progress(what, done, done)

    def note(self, epoch: Epoch) -> None:
        """Log an epoch and report it."""
        self._epochs.append(epoch)
        held = "" if epoch.held_out is None else f", held out {epoch.held_out:.3f}"
        self._progress(f"train {epoch.part}, loss {epoch.loss:.3f}{held}", epoch.epoch, epoch.of)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(epoch))

    def _write(self) -> None:
        if self._path is None:
            return
        part = self._path.with_suffix(".part")
        part.write_text("".join(map(_line, self._epochs)), encoding="utf-8")
        part.replace(self._path)


def _line(epoch: Epoch) -> str:
    return json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in asdict(epoch).items()}) + "\n"
