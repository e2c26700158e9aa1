"""What people write, as HTML that can do no harm: everything is escaped first, and only known marks become tags."""

from __future__ import annotations

import html
import re

_CODE = re.compile(r"`([^`\n]{1,500})`")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\((https?://[^\s()<>]{1,500})\)")
_BOLD = re.compile(r"\*\*([^*\n]{1,500})\*\*")
_ITALIC = re.compile(r"\*([^*\n]{1,500})\*")
_COMMUNITY = re.compile(r"(?<![\w/])c/([a-z]{3,20})\b")
_MENTION = re.compile(r"(?<![\w/])u/([A-Za-z0-9_-]{3,20})\b")
_FENCE = "```"


def render(text: str) -> str:
    """Paragraphs, quotes (``> ``), lists (``- ``), fenced code, and inline marks, as safe HTML."""
    blocks: list[str] = []
    for number, part in enumerate(text.replace("\r\n", "\n").split(_FENCE)):
        if number % 2:
            blocks.append(f"<pre><code>{html.escape(part.strip(chr(10)))}</code></pre>")
        else:
            blocks += (_block(block) for block in part.split("\n\n") if block.strip())
    return "\n".join(blocks)


def excerpt(text: str, most: int = 280) -> str:
    """The beginning, cut at a word, as safe HTML."""
    return render(cut(text, most))


def cut(text: str, most: int) -> str:
    """At most so many characters, ending with a whole word."""
    if len(text) <= most:
        return text
    words = text[:most].rsplit(None, 1)
    return f"{words[0]} …" if words else "…"


def _block(block: str) -> str:
    lines = [line.strip() for line in block.strip().split("\n")]
    if all(line.startswith(">") for line in lines):
        return f"<blockquote>{'<br>'.join(_inline(line[1:].strip()) for line in lines)}</blockquote>"
    if all(line.startswith("- ") for line in lines):
        return "<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>"
    return f"<p>{'<br>'.join(_inline(line) for line in lines)}</p>"


def _inline(line: str) -> str:
    """Marks within a line. What is code, or a link's address, is left as it is by the other marks."""
    pieces = _CODE.split(html.escape(line))
    return "".join(f"<code>{piece}</code>" if number % 2 else _marks(piece) for number, piece in enumerate(pieces))


def _marks(text: str) -> str:
    done, at = [], 0
    for link in _LINK.finditer(text):
        done += [_emphasis(text[at : link.start()]), f'<a rel="nofollow ugc" href="{link[2]}">{_emphasis(link[1])}</a>']
        at = link.end()
    return "".join([*done, _emphasis(text[at:])])


def _emphasis(text: str) -> str:
    text = _ITALIC.sub(r"<em>\1</em>", _BOLD.sub(r"<strong>\1</strong>", text))
    return _MENTION.sub(r'<a href="/u/\1">u/\1</a>', _COMMUNITY.sub(r'<a href="/c/\1">c/\1</a>', text))
