"""Hooks of mkdocs.yml: pages from the repository's root join the site, and links to what is not in it become plain text."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
JOINING = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "revelio/bundled/model/model_card.md": "project/model-card.md",
}
"""Where each stands in the site."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the joining pages."""
    for name, place in JOINING.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as they are right in the site."""
    place = page.file.src_uri
    source = next((ROOT / name for name, at in JOINING.items() if at == place), ROOT / "docs" / place)
    there = {path.removeprefix("docs/") for path in (f"docs/{file.src_uri}" for file in files)}

    def resolved(link: re.Match[str]) -> str:
        target = os.path.relpath((source.parent / link[2]).resolve(), ROOT)
        inside = JOINING.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if inside not in there:
            return link[1]
        return f"[{link[1]}]({os.path.relpath(inside, Path(place).parent)}{link[3] or ''})"

    return _LINK.sub(resolved, markdown)
