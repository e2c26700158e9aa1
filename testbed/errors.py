"""What the testbed raises when it cannot do what was asked."""


class StackError(Exception):
    """The stack cannot be brought up, looked at or taken down; the message says what is wrong and what to do."""


class CorpusError(Exception):
    """The report corpus lacks something; the message names the file."""
