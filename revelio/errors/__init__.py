"""One root error with typed children. Every message says what is wrong and what to do about it."""

from revelio.errors.redaction import redact


class RevelioError(Exception):
    """Base of every error that Revelio raises on purpose; its text is fit to show to a user.

    This is where an address becomes text: whatever a library said of it, its password stays out.
    """

    def __init__(self, words: str = "") -> None:
        super().__init__(redact(words))


class InvalidInputError(RevelioError):
    """The caller gave something unusable: an empty report, an unknown option, a file that does not parse."""


class MissingExtraError(InvalidInputError):
    """A package that a plain install leaves out is missing; the message names the extra that brings it."""


class NotFoundError(RevelioError):
    """A named thing (incident, system, query, recommendation) does not exist."""


class CatalogError(RevelioError):
    """A catalog file is wrong; the message starts with ``file:line:``."""


class ArtifactError(RevelioError):
    """A model folder is missing, damaged or of another format; the message names the part."""


class DatasetError(RevelioError):
    """An incident file or dataset folder cannot be read; the message names file and line."""


class SourceError(RevelioError):
    """A backend did not answer as it should. ``source`` is the tool's name."""

    def __init__(self, source: str, reason: str) -> None:
        self.source = source
        self.reason = redact(reason)
        super().__init__(f"{source}: {self.reason}")


class CancelledError(RevelioError):
    """The asker does not want the answer any more."""


class FaultError(RevelioError):
    """A fault could not be validated, injected, verified or undone."""


class StackError(RevelioError):
    """The testbed could not be brought up, down or asked for its status."""


class StoreError(RevelioError):
    """The database cannot be opened, read or written."""


class AccessError(RevelioError):
    """A name, password, session or token that does not let anybody in, or not to this."""
