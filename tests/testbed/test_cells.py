"""From what probe users saw to the complaint that fits."""

from __future__ import annotations

import pytest

from testbed.users.cells import cells, symptom
from testbed.users.corpus import features, symptoms
from testbed.users.notes import Visit, outcome_of

FEATURES = ("home", "product", "search", "cart_add", "cart_view", "payment", "checkout", "orders")


def visits(feature: str, outcomes: str, seconds: float = 0.05) -> list[Visit]:
    names = {".": "ok", "s": "slow", "t": "timeout", "e": "error", "w": "wrong_data", "m": "missing_data", "l": "lost_state"}
    return [Visit(100.0 + 2.5 * i, feature, names[o], seconds) for i, o in enumerate(outcomes)]


def everywhere(outcomes: str) -> list[Visit]:
    return [v for f in FEATURES for v in visits(f, outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ("........", ""),
        (".......e", ""),
        ("...s", ""),
        ("...t", "timeout"),
        (".ss.", "slow"),
        ("..eeeeee", "error"),
        (".tttttt", "timeout"),
        ("e.e..e.e", "flaky"),
        ("..ssssss", "slow"),
        ("wwwwww", "wrong_data"),
        ("mmmmmm", "missing_data"),
        ("llllll", "lost_state"),
    ],
)
def test_a_features_visits_have_one_symptom(outcomes: str, expected: str) -> None:
    assert symptom(visits("home", outcomes)) == expected


def test_slower_and_slower_is_degrading() -> None:
    seconds = (0.1, 0.2, 0.4, 0.9, 2.0, 4.0)
    walk = [Visit(10.0 * i, "orders", outcome_of(s, 200), s) for i, s in enumerate(seconds)]
    assert symptom(walk) == "degrading"


def test_the_worst_feature_comes_first() -> None:
    window = [*visits("checkout", "..eeee"), *visits("orders", "eeeeee"), *visits("home", "......"), *visits("search", "......")]
    assert cells("shop", window) == ("shop/orders/error", "shop/checkout/error")


@pytest.mark.parametrize(("outcomes", "expected"), [("eeeeee", "site_down"), ("ssssss", "site_slow"), ("e..e..e.", "site_flaky")])
def test_when_most_features_suffer_alike_people_speak_of_the_site(outcomes: str, expected: str) -> None:
    assert cells("shop", everywhere(outcomes))[0] == f"shop/_site/{expected}"


def test_when_nobody_suffered_the_report_is_about_something_else_or_a_busy_hour() -> None:
    calm = everywhere("......")
    assert cells("shop", calm, calm) == ("shop/_site/unrelated",)
    busier = [Visit(v.at, v.feature, "ok", 2 * v.seconds) for v in calm]
    assert cells("shop", busier, calm) == ("shop/_site/busy_spike",)


@pytest.mark.parametrize(
    ("seconds", "status", "expected"),
    [
        (0.1, 200, "ok"),
        (2.0, 200, "slow"),
        (3.0, 504, "timeout"),
        (10.0, None, "timeout"),
        (0.1, 500, "error"),
        (0.1, 404, "error"),
    ],
)
def test_an_answer_is_called_what_a_person_would_call_it(seconds: float, status: int | None, expected: str) -> None:
    assert outcome_of(seconds, status) == expected


@pytest.mark.parametrize("app", ["shop", "forum", "travel"])
@pytest.mark.parametrize("outcomes", ["......", "tttttt", "eeeeee", "e.e..e.e", "..ssssss", "wwwwww", "mmmmmm", "llllll"])
def test_every_complaint_is_one_that_people_have_written(app: str, outcomes: str) -> None:
    for feature in features(app):
        for cell in cells(app, visits(feature, outcomes)):
            _, of, complaint = cell.split("/")
            assert complaint in symptoms(app)[of]


def test_what_nobody_has_written_of_a_feature_is_an_error_to_its_users() -> None:
    assert cells("shop", visits("login", "wwwwww")) == ("shop/login/error",)
    assert cells("shop", visits("login", "llllll")) == ("shop/login/lost_state",)
