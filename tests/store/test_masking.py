"""What must not be kept is masked, and nothing else is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.store.masking import Maskable, is_card, mask, masked_kinds
from tests.growth import in_proportion

ALL: tuple[Maskable, ...] = ("secrets", "emails", "cards", "addresses")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("it says password=hunter2, then stops", "it says password=[secret masked], then stops"),
        ('{"api_key": "a1b2c3d4"}', '{"api_key": [secret masked]}'),
        ("postgres://shop:s3cr3t@db:5432/shop is down", "postgres://shop:[secret masked]@db:5432/shop is down"),
        ("Authorization: Bearer abcdefghijkl0123", "Authorization: Bearer [secret masked]"),
        ("key AKIAIOSFODNN7EXAMPLE was used", "key [secret masked] was used"),
        ("ghp_0123456789abcdefghij0123456789abcdef", "[secret masked]"),
        ("xoxb-123456789012-abcdef", "[secret masked]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig-nature", "[secret masked]"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b", "a [secret masked] b"),
        ("mail anna.b+shop@mail.example.co.uk please", "mail [e-mail masked] please"),
        ("paid with 4111 1111 1111 1111 twice", "paid with [card number masked] twice"),
        ("order 12 4111-1111-1111-1111.", "order 12 [card number masked]."),
        ("order2,4111111111111111;card4111111111111111", "order2,[card number masked];card[card number masked]"),
        ("4111 1111 1111 1111 and 5500-0000-0000-0004", "[card number masked] and [card number masked]"),
        ("from 10.0.0.7 and fe80::1", "from [address masked] and [address masked]"),
    ],
)
def test_secrets_and_personal_data_are_masked(text: str, kept: str) -> None:
    assert mask(text, ALL) == kept


@pytest.mark.parametrize(
    "text",
    [
        "checkout takes ages since lunch",
        "forgot password: the page is blank",
        "my password does not work and the token expired",
        "error at 2026-11-21 14:30:15.123, order 1234567890123456",
        "trace 4bf92f3577b34da6a3ce929d0e0e4736 took 1700000000123456789 ns",
        "span a4111111111111111 of trace 4111111111111111b7c60a3129d0e0e4",
        "request 41111111-1111-4111-8111-111111111116 in 0.4111111111111111 s",
        "card 4111 1111 1111 1112 is a digit off",
        "version 1.2.3 of orders:8080, @channel look",
        "price 19.99 EUR, phone +49 30 901820",
        "std::vector in a::b, 12:30:45",
        "",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert mask(text, ALL) == text


def test_only_what_is_asked_for_is_masked_and_it_can_be_seen() -> None:
    text = "anna@example.com from 10.0.0.7 with token=1"
    assert mask(text, ()) == text
    assert mask(text, ("emails",)) == "[e-mail masked] from 10.0.0.7 with token=1"
    assert masked_kinds(mask(text, ALL)) == ("secrets", "emails", "addresses")
    assert masked_kinds(text) == ()


WORDS = st.text(st.sampled_from("ab1 :=@.-_/\n'\"[]") | st.characters(codec="utf-8"), max_size=30)
SECRET = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=36, max_size=60)


@given(before=WORDS, after=WORDS, secret=SECRET, frame=st.sampled_from(["ghp_{}", "password={}", "https://u:{}@h/", "Bearer {}"]))
def test_a_secret_never_survives(before: str, after: str, secret: str, frame: str) -> None:
    assert secret not in mask(f"{before} {frame.format(secret)} {after}", ALL)


@given(before=WORDS, after=WORDS, name=st.from_regex(r"[a-z][a-z0-9.]{0,10}[a-z0-9]", fullmatch=True))
def test_an_e_mail_address_never_survives(before: str, after: str, name: str) -> None:
    assert f"{name}@example.com" not in mask(f"{before} {name}@example.com {after}", ALL)


@given(first=st.sampled_from("3456"), rest=st.text("0123456789", min_size=11, max_size=17), gap=st.sampled_from(["", " ", "-"]))
def test_a_card_number_never_survives(first: str, rest: str, gap: str) -> None:
    digits = first + rest
    number = next(digits + check for check in "0123456789" if is_card(digits + check))
    shown = gap.join(number[i : i + 4] for i in range(0, len(number), 4))
    assert shown not in mask(f"card {shown} was charged", ("cards",))


@given(text=st.lists(WORDS | st.sampled_from(["token=", "a@b.co", "://u:p@", "Bearer abcdefghijklmno", "4111111111111111"])))
def test_masking_what_is_masked_changes_nothing(text: list[str]) -> None:
    once = mask("".join(text), ALL)
    assert mask(once, ALL) == once


UNITS = ["a", "1", "1 ", "4-", "4111 1111 1111 1111 ", "4111111111111111,", "f1", "1.", "://", "token:", "a@", "a.", "0:", "'"]
KEYS = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "password = ", "Bearer ", "eyJ", "\u0661"]


@pytest.mark.parametrize("unit", UNITS + KEYS)
def test_ten_times_the_text_takes_about_ten_times_as_long(unit: str) -> None:
    assert in_proportion(lambda text: mask(text, ALL), unit, 200_000)


@pytest.mark.parametrize("unit", ["1", "1 ", "4-", "4111 1111 1111 1111 "])
def test_a_megabyte_of_digits_is_no_work(unit: str) -> None:
    assert in_proportion(lambda text: mask(text, ("cards",)), unit, 1_000_000)


def test_a_text_full_of_cards_keeps_none() -> None:
    assert mask("4111111111111111, " * 5_000, ALL) == "[card number masked], " * 5_000


def test_random_hexadecimal_ids_are_left_alone() -> None:
    chance = random.Random(7)
    ids = [f"{chance.getrandbits(128):032x}" for _ in range(20_000)]
    mixed = [i for i in ids if not i.isdecimal()]
    assert mask("\n".join(mixed), ALL) == "\n".join(mixed)
