"""The command line. Each verb is one file; here alone an error becomes an exit code: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import sys

from revelio.errors import RevelioError
from revelio.support.extras import extras_for

TESTBED_VERBS = {"campaign", "faults", "testbed"}
"""Verbs that need all of that extra, whichever of its packages they import first."""


def main() -> None:
    """What the ``revelio`` command runs."""
    import typer  # here, so that importing the package costs nothing

    from revelio.cli.app import build
    from revelio.cli.failure import failed

    try:
        with extras_for("this command", "testbed" if set(sys.argv[1:2]) & TESTBED_VERBS else ""):
            code = build("".join(sys.argv[1:2]))(standalone_mode=False)
    except typer.Abort:
        typer.echo("stopped", err=True)
        code = 1
    except (RevelioError, OSError, typer.TyperException) as error:
        code = failed(error)
    sys.exit(code or 0)
