"""Plug-ins that were written for an earlier version load."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from revelio.support.moved_modules import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_gives_the_same_objects_and_names_the_new_path(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        found = import_module(old)
    new = import_module(MOVED[old])
    public = [name for name in vars(new) if not name.startswith("_")]
    assert public
    assert all(getattr(found, name) is getattr(new, name) for name in public)
