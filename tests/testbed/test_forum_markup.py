"""What members write comes out as HTML that says the same and does nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from apps.forum.markup import cut, excerpt, render

TAGS = frozenset(("p", "br", "em", "strong", "code", "pre", "ul", "li", "blockquote", "a"))


class Text(HTMLParser):
    """The text that a browser would show; notes every tag with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def shown(text: str) -> Text:
    page = Text()
    page.feed(render(text))
    page.close()
    return page


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one<br>two</p>\n<p>three</p>"),
        ("**bold** and *slanted*", "<p><strong>bold</strong> and <em>slanted</em></p>"),
        ("> said\n> twice", "<blockquote>said<br>twice</blockquote>"),
        ("- one\n- two", "<ul><li>one</li><li>two</li></ul>"),
        ("`**as it is**`", "<p><code>**as it is**</code></p>"),
        ("```\nx < y\n```", "<pre><code>x &lt; y</code></pre>"),
        ("[here](https://example.org/*a*)", '<p><a rel="nofollow ugc" href="https://example.org/*a*">here</a></p>'),
        ("c/chess by u/otter12", '<p><a href="/c/chess">c/chess</a> by <a href="/u/otter12">u/otter12</a></p>'),
    ],
)
def test_marks_become_tags(text: str, html: str) -> None:
    assert render(text) == html


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "//example.org", "data:text/html,x", "https://a b", "ftp://example.org"]
)
def test_only_web_addresses_become_links(address: str) -> None:
    assert shown(f"[click]({address})").tags == ["p"]


@given(st.text(alphabet=st.sampled_from("ab<>&\"'*`[]()!/:-> \n\\=cu") | st.characters(codec="utf-8")))
def test_no_text_makes_any_other_tag_or_attribute(text: str) -> None:
    page = shown(text)
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= {"href", "rel"}
    assert all(
        (value or "").startswith(("https://", "http://", "/c/", "/u/")) for name, value in page.attributes if name == "href"
    )


@given(st.text(alphabet=st.sampled_from("abc<>&\"' ")))
def test_text_without_marks_is_shown_letter_by_letter(text: str) -> None:
    assume(not text.strip().startswith(">"))
    assert shown(text).text.strip() == text.strip()


@given(st.text(alphabet="ab  \n"), st.integers(5, 40))
def test_an_excerpt_is_no_longer_than_asked_and_ends_with_a_whole_word(text: str, most: int) -> None:
    short = cut(text, most)
    kept = short.removesuffix("…").removesuffix(" ")
    assert len(kept) <= most
    assert short == text or text.lstrip().startswith(kept.lstrip())


def test_an_excerpt_of_a_long_text_says_that_there_is_more() -> None:
    assert excerpt("word " * 100).endswith("word …</p>")
