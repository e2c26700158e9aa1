"""A chart as a picture, for places that show images but run no script. Needs no font of the machine's, and no display."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from revelio.presentation.panels import Chart, Line
from revelio.support.numbers import format_value
from revelio.types import Window

SIZE = (720, 300)
"""Width and height without the legend, in points."""
DENSITY = 2
"""Pixels in a point: screens of telephones show fewer as a blur."""
MAX_ALT = 1_900
"""Slack takes 2,000 characters of alternative text."""

_SMOOTH = 2  # lines are drawn so many times larger and shrunk: Pillow's own have stairs
_ROW, _LEFT, _RIGHT, _TOP, _BOTTOM = 20, 78, 16, 52, 30
_PAPER, _INK, _MUTED, _GRID = "#fffdf8", "#1a2329", "#57626b", "#dfd9cb"
_BASELINE, _WINDOW = "#eeeff0", "#fbeddb"
_COLOURS = ("#0b5d57", "#b4551b", "#5a5fb0", "#8a8f2c", "#9b3d73", "#3f7fae", "#6d5a45", "#57626b")
_SMALL, _LARGE = 12.0, 14.0
_LIKE = {"−": "-", "–": "-", "—": "-", "→": "->", "…": "...", "×": "x", "µ": "u", "μ": "u", "’": "'", "“": '"', "”": '"'}


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG, its title, and what it shows in words, for those who do not see it."""

    png: bytes
    title: str
    alt: str


def picture(chart: Chart) -> Picture:
    """Baseline and window shaded, one line a series, their figures before and now in the legend: as on the page."""
    canvas = _Canvas(chart)
    canvas.draw()
    return Picture(canvas.png(), _title(chart), described(chart))


def described(chart: Chart) -> str:
    """The chart in words, at most ``MAX_ALT`` characters."""
    sentences = [f"Chart of {_title(chart)} over the {chart.window.seconds:.0f} s of the incident and the "]
    sentences[0] += f"{chart.baseline.seconds:.0f} s before, which are shaded differently."
    for line in chart.lines:
        before, now, highest = (_figure(value, chart.unit) for value in (line.before, line.now, line.highest))
        sentences.append(f"{line.name or 'The series'}: {before} before, {now} now, {highest} at most.")
    sentences += [f"{chart.left_out} more are left out."] if chart.left_out else []
    words = " ".join(sentences)
    return words if len(words) <= MAX_ALT else f"{words[: MAX_ALT - 1]}…"


class _Canvas:
    """One chart on its way to pixels. Places are in points; ``_at`` knows how large a point is drawn."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.width, self.height = SIZE[0], SIZE[1] + _ROW * (len(chart.lines) + bool(chart.left_out))
        self.from_s, self.until_s = chart.baseline.start, max(chart.window.end, chart.baseline.start + 1e-9)
        known = [v for line in chart.lines for v in line.values if v is not None and math.isfinite(v)]
        self.low = min([0.0, *known])
        self.high = max(known, default=0.0) * 1.1 if max(known, default=0.0) > 0 else max(1.0, self.low + 1.0)
        scale = DENSITY * _SMOOTH
        self.image = Image.new("RGB", (self.width * scale, self.height * scale), _PAPER)

    def draw(self) -> None:
        scale = DENSITY * _SMOOTH
        pen = ImageDraw.Draw(self.image)
        for window, colour in ((self.chart.baseline, _BASELINE), (self.chart.window, _WINDOW)):
            left, right = self._x(window.start), self._x(window.end)
            pen.rectangle([v * scale for v in (left, _TOP, right, SIZE[1] - _BOTTOM)], fill=colour)
        for value in _ticks(self.low, self.high):
            pen.line([v * scale for v in (_LEFT, self._y(value), self.width - _RIGHT, self._y(value))], fill=_GRID, width=scale)
        for number in reversed(range(len(self.chart.lines))):  # the first one is the one to look at: on top
            self._line(pen, self.chart.lines[number], _COLOURS[number % len(_COLOURS)], 2.5 if number == 0 else 1.6)
        for number in range(len(self.chart.lines)):
            y = SIZE[1] + _ROW * (number + 0.4)
            pen.line([v * scale for v in (_LEFT, y, _LEFT + 16, y)], fill=_COLOURS[number % len(_COLOURS)], width=3 * scale)
        self.image = self.image.reduce(_SMOOTH)
        self._write()

    def png(self) -> bytes:
        out = BytesIO()
        self.image.save(out, "PNG", optimize=True)
        return out.getvalue()

    def _line(self, pen: ImageDraw.ImageDraw, line: Line, colour: str, width: float) -> None:
        scale = DENSITY * _SMOOTH
        for stretch in _stretches(line, Window(self.from_s, self.until_s)):
            points = [(self._x(at) * scale, self._y(value) * scale) for at, value in stretch]
            if len(points) == 1:
                pen.circle(points[0], 2 * width * scale / 2, fill=colour)
            pen.line(points, fill=colour, width=round(width * scale), joint="curve")

    def _write(self) -> None:
        pen = ImageDraw.Draw(self.image)
        self._text(pen, (_LEFT, 8), _fitting(_title(self.chart), 80), _INK, _LARGE)
        for window, words in ((self.chart.baseline, "before"), (self.chart.window, "incident")):
            self._text(pen, (self._x(window.start), _TOP - 5), words, _MUTED, _SMALL, "ls")
        for value in _ticks(self.low, self.high):
            self._text(pen, (_LEFT - 8, self._y(value)), _figure(value, self.chart.unit), _MUTED, _SMALL, "rm")
        for seconds in _ticks(self.from_s - self.until_s, 0.0):
            words = "report" if seconds == 0 else f"{seconds:.0f} s"
            anchor = "ra" if seconds == 0 else "ma"
            self._text(pen, (self._x(self.until_s + seconds), SIZE[1] - _BOTTOM + 6), words, _MUTED, _SMALL, anchor)
        for number, line in enumerate(self.chart.lines):
            before, now = (_figure(value, self.chart.unit) for value in (line.before, line.now))
            words = f"{_fitting(line.name, 70)}   {before} -> {now}"
            self._text(pen, (_LEFT + 24, SIZE[1] + _ROW * (number + 0.4)), words, _INK, _SMALL, "lm")
        if self.chart.left_out:
            place = (_LEFT + 24, SIZE[1] + _ROW * (len(self.chart.lines) + 0.4))
            self._text(pen, place, f"{self.chart.left_out} more", _MUTED, _SMALL, "lm")

    def _text(
        self, pen: ImageDraw.ImageDraw, place: tuple[float, float], words: str, colour: str, size: float, anchor: str = "la"
    ) -> None:
        where = (place[0] * DENSITY, place[1] * DENSITY)
        pen.text(where, _drawable(words), fill=colour, font=ImageFont.load_default(size * DENSITY), anchor=anchor)

    def _x(self, at: float) -> float:
        share = (at - self.from_s) / (self.until_s - self.from_s)
        return _LEFT + min(max(share, 0.0), 1.0) * (self.width - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        return SIZE[1] - _BOTTOM - (value - self.low) / (self.high - self.low) * (SIZE[1] - _TOP - _BOTTOM)


def _stretches(line: Line, whole: Window) -> Iterator[list[tuple[float, float]]]:
    """Points of the window between the gaps."""
    stretch: list[tuple[float, float]] = []
    for at, value in zip(line.times, line.values, strict=True):
        if value is not None and whole.start <= at <= whole.end:
            stretch.append((at, value))
        elif stretch and value is None:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _ticks(low: float, high: float) -> list[float]:
    """Three to seven round figures between."""
    rough = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= rough)
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _title(chart: Chart) -> str:
    return ", ".join(part for part in (chart.title, chart.unit) if part) or "what the query showed"


def _figure(value: float | None, unit: str) -> str:
    return "nothing" if value is None else format_value(value, unit)


def _fitting(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _drawable(text: str) -> str:
    """Text in the letters that the font has; the alternative text keeps all others."""
    letters: Sequence[str] = [_LIKE.get(c, c) for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)]
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in "".join(letters))
