"""Probe users walk every feature that people write about, in every application."""

from __future__ import annotations

import pytest

from testbed.stack import applications
from testbed.users.corpus import features
from testbed.users.walks import walk_of


@pytest.mark.parametrize("app", applications())
def test_each_feature_of_the_corpus_has_a_way_through_the_application_and_no_other(app: str) -> None:
    walk = walk_of(app)
    assert set(walk.features) == set(features(app))
    assert all(go.__doc__ for go in walk.features.values())


@pytest.mark.parametrize("app", applications())
def test_two_visitors_do_not_share_their_browser(app: str) -> None:
    walk = walk_of(app)
    first, second = (walk.visitor("http://127.0.0.1:1", number) for number in range(2))
    assert first.client is not second.client and (first.number, second.number) == (0, 1)
