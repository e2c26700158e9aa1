"""How verbs fail: one message on standard error, as JSON with ``--json``, and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from json import dumps
from pathlib import Path

import typer

from revelio.cli.output import complain
from revelio.errors import RevelioError

_REMEDIES = {
    errno.ENOENT: "is its name right?",
    errno.ENOTDIR: "a part of this path is a file where a folder is needed; name another path",
    errno.EEXIST: "a part of this path is a file where a folder is needed; name another path",
    errno.EISDIR: "this is a folder where a file is needed; name a file in it",
    errno.EACCES: "this user may not read or write it; change its mode or owner, or name another path",
    errno.EPERM: "this user may not read or write it; change its mode or owner, or name another path",
    errno.EROFS: "name a path on a disk that can be written",
    errno.ENOSPC: "free some space, or name a path on another disk",
    errno.EDQUOT: "free some space, or name a path on another disk",
}


def failed(error: RevelioError | OSError | typer.TyperException) -> int:
    """Show what ended a verb; gives its exit code: 1, or 2 for wrong usage."""
    code = getattr(error, "exit_code", 1)
    as_json = "--json" in sys.argv
    if isinstance(error, typer.TyperException) and not as_json:
        error.show()  # type: ignore[attr-defined]  # with the usage of the verb
        return int(code)
    message = _message(error)
    if as_json:
        typer.echo(dumps({"error": message, "exit_code": code}, ensure_ascii=False), err=True)
    else:
        complain(message)
    return int(code)


def check_writable(path: Path) -> None:
    """Raise ``OSError`` before the work, not after it, where no file can be written at ``path``. Missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise _os_error(errno.EISDIR, path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _os_error(errno.EACCES, path)


def _message(error: Exception) -> str:
    if isinstance(error, typer.TyperException):
        return str(error.format_message())
    return path_message(error) if isinstance(error, OSError) else str(error)


def path_message(error: OSError) -> str:
    """Which path could not be read or written, why, and what to do about it."""
    if error.filename is None:
        return str(RevelioError(str(error)))
    remedy = _REMEDIES.get(error.errno or 0, "")
    return str(RevelioError(f"{error.filename}: {error.strerror}{remedy and '; '}{remedy}"))


def _os_error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
