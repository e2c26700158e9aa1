"""What coverage says about what is not seen: the kinds of things that are there, one by one; the others in a line."""

from __future__ import annotations

from revelio.conventions import signals
from revelio.coverage import Signals, reasons


def test_reasons_are_given_for_the_kinds_of_entities_that_are_there() -> None:
    databases = {name for name, signal in signals().items() if signal.entity == "database"}
    lacking = {name: "nothing that measures it is there" for name in signals() if name not in databases} | {"db_size": "too old"}
    told = reasons(Signals(len(databases) - 1, len(signals()), lacking))
    assert told[0] == "db_size: too old"
    assert told[1].startswith("nothing measures any service, ")
    assert len(told) == 2


def test_where_nothing_is_lacking_nothing_is_said() -> None:
    assert reasons(Signals(len(signals()), len(signals()), {})) == []
