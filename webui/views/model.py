"""What a model folder says of itself: manifest, card, and the figures of an evaluation where it carries them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pydantic import BaseModel, ValidationError

from revelio.errors import ArtifactError
from revelio.ranker.artifact import CARD, Manifest, load_manifest
from webui.i18n import gettext

EVALUATION = "evaluation.json"
"""The output of ``revelio eval --json``, put beside the weights."""


class ReliabilityBin(BaseModel):
    """Mean confidence, the share that was right, and how many examples fell into the bin."""

    confidence: float
    accuracy: float
    count: int


class SplitFigures(BaseModel):
    """One split; figures that this kind of split does not have are None."""

    incidents: int = 0
    top1: float | None = None
    top3: float | None = None
    accepted_top3: float | None = None
    mrr: float | None = None
    ece: float | None = None
    auroc: float | None = None
    ci95: dict[str, tuple[float, float]] = {}
    reliability: list[ReliabilityBin] = []


class EvaluationFile(BaseModel):
    """The parts of an evaluation that the page shows."""

    model: str
    dataset: str
    splits: dict[str, SplitFigures]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Everything but the weights. ``trouble`` says why there is no manifest, ``evaluation_trouble`` why no figures."""

    folder: Path
    manifest: Manifest | None
    card: Markup
    evaluation: EvaluationFile | None
    trouble: str = ""
    evaluation_trouble: str = ""


def read_model_folder(folder: Path) -> ModelFolder:
    """Reads what can be read; never raises."""
    manifest, trouble = None, ""
    try:
        manifest = load_manifest(folder)
    except (ArtifactError, OSError) as error:
        trouble = str(error)
    evaluation, evaluation_trouble = _evaluation(folder / EVALUATION)
    return ModelFolder(folder, manifest, _card(folder / CARD), evaluation, trouble, evaluation_trouble)


def _card(path: Path) -> Markup:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return Markup("")
    # No HTML of the card's own gets through; its headings go below the page's.
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    shown = markdown.renderer.render(tokens, markdown.options, {})
    # A wide table scrolls by itself, also by keyboard, and does not widen the page.
    first, *tables = shown.split("<table>")
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table>'
    labels = (gettext("Table %(number)s of the card") % {"number": number} for number in range(1, len(tables) + 1))
    framed = first + "".join(scroll.format(escape(label)) + table for label, table in zip(labels, tables, strict=True))
    return Markup(framed.replace("</table>", "</table></div>"))


def _evaluation(path: Path) -> tuple[EvaluationFile | None, str]:
    if not path.is_file():
        return None, ""
    try:
        return EvaluationFile.model_validate_json(path.read_bytes()), ""
    except (OSError, ValidationError) as error:
        words = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        told = gettext("%(path)s cannot be read: %(reason)s; write it again with `revelio eval --json`")
        return None, told % {"path": path, "reason": words}
