"""The command line. Each verb is one file; here alone an error becomes an exit code: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import sys

from revelio.errors import RevelioError
from revelio.extras import extras_for

TESTBED_VERBS = {"campaign", "faults", "testbed"}
"""Verbs that need all of that extra, whichever of its packages they import first."""


def main() -> None:
    """What the ``revelio`` command runs."""
    from revelio.cli.app import build  # so that importing the package costs nothing
    from revelio.cli.output import complain

    try:
        with extras_for("this command", "testbed" if set(sys.argv[1:2]) & TESTBED_VERBS else ""):
            build("".join(sys.argv[1:2]))()
    except RevelioError as error:
        complain(str(error))
        sys.exit(1)
