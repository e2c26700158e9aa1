"""The command line on settings of its own."""

from tests.cli.conftest import revelio

__all__ = ["revelio"]
