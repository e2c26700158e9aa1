"""The command line. Each verb is one file; here alone an error becomes an exit code: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import sys

from revelio.errors import RevelioError


def main() -> None:
    """What the ``revelio`` command runs."""
    from revelio.cli.app import build  # so that importing the package costs nothing
    from revelio.cli.output import complain

    try:
        build()()
    except RevelioError as error:
        complain(str(error))
        sys.exit(1)
