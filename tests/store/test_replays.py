"""A request with a key is done once."""

from __future__ import annotations

import threading
import time

import pytest

from revelio.store import Store
from revelio.store.replays import GIVEN_UP_S, KEPT_S, Claim, Reply
from revelio.store.tables import ReplayRow

DONE = Reply(201, "application/json", b"{}")


def age(store: Store, seconds: float) -> None:
    with store.database.durable.begin() as connection:
        connection.execute(ReplayRow.__table__.update().values(at=time.time() - seconds))  # type: ignore[attr-defined]


def test_the_reply_is_given_again(store: Store) -> None:
    assert store.replays.claim("anna", "k", "f") == Claim(True)
    assert store.replays.claim("anna", "k", "f") == Claim(False)
    store.replays.keep("anna", "k", DONE)
    assert store.replays.claim("anna", "k", "f") == Claim(False, True, DONE)
    assert store.replays.claim("anna", "k", "other") == Claim(False, False, DONE)
    assert store.replays.claim("ben", "k", "f") == Claim(True)


def test_a_key_whose_request_failed_may_be_used_again(store: Store) -> None:
    store.replays.claim("anna", "k", "f")
    store.replays.release("anna", "k")
    assert store.replays.claim("anna", "k", "other").mine
    store.replays.keep("anna", "k", DONE)
    store.replays.release("anna", "k")
    assert store.replays.claim("anna", "k", "other").reply == DONE


@pytest.mark.parametrize(("kept", "seconds"), [(True, KEPT_S + 1), (False, GIVEN_UP_S + 1)])
def test_keys_do_not_last_for_ever(store: Store, kept: bool, seconds: float) -> None:
    store.replays.claim("anna", "k", "f")
    if kept:
        store.replays.keep("anna", "k", DONE)
    age(store, seconds - 60)
    assert not store.replays.claim("anna", "k", "f").mine
    age(store, seconds)
    assert store.replays.claim("anna", "k", "f").mine


def test_of_many_at_once_one_gets_the_key(store: Store) -> None:
    got: list[Claim] = []
    threads = [threading.Thread(target=lambda: got.append(store.replays.claim("anna", "k", "f"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claim.mine for claim in got) == [False] * 7 + [True]
