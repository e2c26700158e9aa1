"""What a report encoder was trained on: a file beside it, which goes into the model card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from revelio.training.alert_texts import sources

_NAME = "encoder.json"


@dataclass(frozen=True, slots=True)
class EncoderNote:
    """Figures of the training and the sources of its alerts with their licences; both empty for the published encoder."""

    figures: dict[str, float]
    sources: tuple[str, ...]


def write_note(folder: Path, figures: dict[str, float], files: Sequence[Path]) -> None:
    """Note what the encoder in a folder was trained on."""
    note = EncoderNote(figures, sources(files) if figures else ())
    (folder / _NAME).write_text(json.dumps(asdict(note), indent=1) + "\n", encoding="utf-8")


def copy_note(source: Path, folder: Path) -> None:
    """Copy the note with the encoder; encoders of earlier versions have none."""
    (folder / _NAME).unlink(missing_ok=True)
    if (source / _NAME).is_file():
        shutil.copyfile(source / _NAME, folder / _NAME)


def read_note(folder: Path) -> EncoderNote:
    """The note in a folder, empty where there is none."""
    if not (folder / _NAME).is_file():
        return EncoderNote({}, ())
    found = json.loads((folder / _NAME).read_bytes())
    return EncoderNote(found["figures"], tuple(found["sources"]))
