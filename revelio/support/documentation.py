"""The pages of the documentation that come with the program, so that a message can name one wherever it is installed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from revelio.errors import NotFoundError

_PACKAGE = Path(str(files("revelio")))
_SUFFIXES = {".md", ".yaml", ".json", ".service"}


def folder() -> Path:
    """Where the pages are: inside an installed package, or beside the code in a checkout."""
    bundled = _PACKAGE / "bundled" / "docs"
    return bundled if bundled.is_dir() else _PACKAGE.parent / "docs"


def pages() -> dict[str, Path]:
    """The path of each page and file by its name: without folder, and a page without its suffix too."""
    found = [path for path in sorted(folder().rglob("*")) if path.suffix in _SUFFIXES and path.name != "README.md"]
    return {path.stem if path.suffix == ".md" else path.name: path for path in found}


def page(name: str) -> Path:
    """The path of one page; ``NotFoundError`` where there is none of that name."""
    there = pages()
    wanted = name.rpartition("/")[2].removesuffix(".md")
    if wanted not in there:
        raise NotFoundError(f"no page {name!r}; `revelio docs` lists those there are")
    return there[wanted]


def title(path: Path) -> str:
    """The first heading of a page; the name of any other file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.suffix == ".md" else []
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), path.name)
