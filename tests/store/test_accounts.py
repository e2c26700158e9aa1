"""Who may sign in, as what, with what; and that all of it is written down."""

from __future__ import annotations

import threading
import time

import pytest

from revelio.errors import AccessError, InvalidInputError, NotFoundError
from revelio.store import Actor, Store, allows
from revelio.store.accounts import ROLES
from revelio.store.tables import SessionRow, TokenRow
from tests.store.cheap import REAL

PASSWORD = "correct horse battery"
ROOT = Actor("root")


@pytest.fixture
def staffed(store: Store) -> Store:
    for role in ROLES:
        store.accounts.add(role, role, PASSWORD, ROOT)
    return store


def test_roles_contain_each_other() -> None:
    assert [[allows(has, needs) for needs in ROLES] for has in ROLES] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_the_right_password_lets_in_and_a_wrong_one_does_not(staffed: Store) -> None:
    person = staffed.accounts.check("viewer", PASSWORD, "10.0.0.7")
    assert (person.name, person.role) == ("viewer", "viewer")
    words = set()
    for name, password in (("viewer", "wrong"), ("nobody", PASSWORD), ("viewer\x00", PASSWORD), ("viewer", "")):
        with pytest.raises(AccessError) as error:
            staffed.accounts.check(name, password, "10.0.0.7")
        words.add(str(error.value))
    assert len(words) == 1, "a wrong name must read like a wrong password"


def test_passwords_are_kept_as_argon2_hashes_only(staffed: Store) -> None:
    with staffed.database.engine.connect() as connection:
        kept = connection.exec_driver_sql("SELECT password_hash FROM users").scalars().all()
    assert all(str(one).startswith("$argon2id$") for one in kept)
    assert len(set(kept)) == 3


def test_a_hash_costs_a_guesser_as_much_as_the_standard_asks() -> None:
    assert (REAL.memory_cost, REAL.time_cost) >= (65_536, 3), "RFC 9106, second recommended option"


@pytest.mark.parametrize("password", ["short", "x" * 1001, ""])
def test_a_password_of_no_fit_length_is_refused(store: Store, password: str) -> None:
    with pytest.raises(InvalidInputError, match="characters"):
        store.accounts.add("robin", "viewer", password, ROOT)
    assert store.accounts.list() == ()


@pytest.mark.parametrize("name", ["", " robin", "a\nb", "x" * 101, "a\x00"])
def test_unusable_names_are_refused(store: Store, name: str) -> None:
    with pytest.raises(InvalidInputError, match="printable"):
        store.accounts.add(name, "viewer", PASSWORD, ROOT)


def test_a_name_is_given_once(staffed: Store) -> None:
    with pytest.raises(InvalidInputError, match="already"):
        staffed.accounts.add("viewer", "admin", PASSWORD, ROOT)


def test_the_last_admin_stays(staffed: Store) -> None:
    for act in (lambda: staffed.accounts.set_role("admin", "viewer", ROOT), lambda: staffed.accounts.remove("admin", ROOT)):
        with pytest.raises(InvalidInputError, match="last admin"):
            act()
    assert staffed.accounts.get("admin").role == "admin"
    staffed.accounts.set_role("viewer", "admin", ROOT)
    staffed.accounts.remove("admin", ROOT)
    assert staffed.accounts.has_admin()


def test_two_admins_who_demote_each_other_do_not_both_succeed(staffed: Store) -> None:
    staffed.accounts.set_role("viewer", "admin", ROOT)
    refused: list[str] = []

    def demote(name: str) -> None:
        try:
            staffed.accounts.set_role(name, "viewer", ROOT)
        except InvalidInputError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=demote, args=(name,)) for name in ("admin", "viewer")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert staffed.accounts.has_admin()


def test_a_session_lasts_until_it_is_closed_runs_out_or_the_password_changes(staffed: Store) -> None:
    person = staffed.accounts.check("viewer", PASSWORD, "")
    secrets = [staffed.sessions.open(person) for _ in range(3)]
    assert [staffed.sessions.find(s) for s in secrets] == [person] * 3
    staffed.sessions.close(secrets[0], Actor("viewer"))
    assert staffed.sessions.find(secrets[0]) is None
    assert staffed.sessions.find("") is None
    staffed.accounts.set_password("viewer", "another long password", ROOT)
    assert staffed.sessions.find(secrets[1]) is None
    late = staffed.sessions.open(person)
    with staffed.database.durable.begin() as connection:
        connection.execute(SessionRow.__table__.update().values(expires_at=time.time() - 1))  # type: ignore[attr-defined]
    assert staffed.sessions.find(late) is None


def test_a_session_has_the_role_of_this_moment(staffed: Store) -> None:
    secret = staffed.sessions.open(staffed.accounts.check("responder", PASSWORD, ""))
    staffed.accounts.set_role("responder", "viewer", ROOT)
    person = staffed.sessions.find(secret)
    assert person is not None
    assert person.role == "viewer"
    staffed.accounts.remove("responder", ROOT)
    assert staffed.sessions.find(secret) is None


def test_a_token_is_shown_once_and_kept_as_a_digest(staffed: Store) -> None:
    token, secret = staffed.tokens.create("responder", "relay", "responder", ROOT, days=1)
    assert secret.startswith("rvl_")
    assert len(secret) > 40
    with staffed.database.engine.connect() as connection:
        for table in ("tokens", "audit"):
            assert secret not in str(connection.exec_driver_sql(f"SELECT * FROM {table}").all())
    person = staffed.tokens.find(secret)
    assert person is not None
    assert (person.name, person.role, person.means) == ("responder", "responder", "token")
    (listed,) = staffed.tokens.list("responder")
    assert (listed.id, listed.name, listed.last_used_at is not None) == (token.id, "relay", True)


def test_a_token_is_worth_no_more_than_its_owner(staffed: Store) -> None:
    with pytest.raises(InvalidInputError, match="cannot be admin"):
        staffed.tokens.create("responder", "relay", "admin", ROOT)
    with pytest.raises(NotFoundError):
        staffed.tokens.create("nobody", "relay", "viewer", ROOT)
    _, secret = staffed.tokens.create("responder", "relay", "responder", ROOT)
    staffed.accounts.set_role("responder", "viewer", ROOT)
    person = staffed.tokens.find(secret)
    assert person is not None
    assert person.role == "viewer"
    staffed.accounts.remove("responder", ROOT)
    assert staffed.tokens.find(secret) is None


def test_a_token_ends_when_it_is_revoked_or_runs_out(staffed: Store) -> None:
    token, secret = staffed.tokens.create("viewer", "a", "viewer", ROOT)
    with pytest.raises(NotFoundError):
        staffed.tokens.revoke(token.id, ROOT, owner="admin")
    staffed.tokens.revoke(token.id, ROOT, owner="viewer")
    assert staffed.tokens.find(secret) is None
    _, late = staffed.tokens.create("viewer", "b", "viewer", ROOT, days=1)
    with staffed.database.durable.begin() as connection:
        connection.execute(TokenRow.__table__.update().values(expires_at=time.time() - 1))  # type: ignore[attr-defined]
    assert staffed.tokens.find(late) is None


def test_everything_is_in_the_audit_trail_and_pages_on(staffed: Store) -> None:
    staffed.accounts.check("viewer", PASSWORD, "10.0.0.7")
    with pytest.raises(AccessError):
        staffed.accounts.check("viewer", "wrong", "10.0.0.8")
    staffed.accounts.set_role("viewer", "responder", ROOT)
    token, _ = staffed.tokens.create("viewer", "relay", "viewer", ROOT)
    staffed.tokens.revoke(token.id, ROOT)
    staffed.accounts.remove("viewer", ROOT)
    trail = staffed.audit.list()
    assert [line.action for line in reversed(trail)] == [
        "user added",
        "user added",
        "user added",
        "signed in",
        "sign-in refused",
        "role changed",
        "token created",
        "token revoked",
        "user removed",
    ]
    assert trail[3].detail == "viewer to responder"
    assert trail[4].address == "10.0.0.8"
    assert staffed.audit.list(3) + staffed.audit.list(50, trail[2].id) == trail
    assert [line.action for line in staffed.audit.list(action="signed in")] == ["signed in"]


def test_somebody_whom_the_provider_knows_is_added_once(staffed: Store) -> None:
    first = staffed.accounts.by_subject("https://idp|1", "kim", "viewer", "10.0.0.7")
    staffed.accounts.set_role("kim", "responder", ROOT)
    again = staffed.accounts.by_subject("https://idp|1", "renamed", "viewer", "10.0.0.7")
    assert (first.user_id, first.name) == (again.user_id, again.name)
    assert again.role == "responder"
    assert not staffed.accounts.get("kim").has_password
    with pytest.raises(AccessError):
        staffed.accounts.check("kim", "", "")
    with pytest.raises(InvalidInputError, match="already"):
        staffed.accounts.by_subject("https://idp|2", "admin", "viewer", "10.0.0.7")
