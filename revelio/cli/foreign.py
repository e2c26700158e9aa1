"""Turns the testbed's errors into Revelio's: the testbed does not import Revelio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from revelio.errors import InvalidInputError, StackError


@contextmanager
def testbed_errors() -> Iterator[None]:
    """Whatever the testbed raises on purpose inside the block is raised as a ``RevelioError``."""
    from testbed import errors

    try:
        yield
    except errors.StackError as error:
        raise StackError(str(error)) from error
    except errors.CorpusError as error:
        raise InvalidInputError(str(error)) from error
