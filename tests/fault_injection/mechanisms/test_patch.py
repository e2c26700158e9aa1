"""A bug is put at the start of one function and nothing else changes; a missing anchor is a clear error."""

from __future__ import annotations

import pytest

from fault_injection.mechanisms.patch import insert, replace
from revelio.errors import FaultError

SOURCE = '''import os  # keep


class Shelf:
    async def price(self, item):
        """In cents."""

        # a remark
        return item["price"]


def total(items): return sum(items)


def outer():
    @staticmethod
    def inner():
        return 1
    return inner
'''


def test_the_statement_comes_first_after_the_docstring_and_all_else_stays() -> None:
    patched = insert(SOURCE, "price", 'rate = item["rate"]', where="shelf.py")
    assert '        rate = item["rate"]\n        return item["price"]\n' in patched
    assert patched.replace('        rate = item["rate"]\n', "") == SOURCE


def test_several_lines_keep_their_shape() -> None:
    patched = insert(SOURCE, "price", 'if item["id"] % 3 == 0:\n    item["rate"]', where="shelf.py")
    assert '        if item["id"] % 3 == 0:\n            item["rate"]\n        return' in patched


def test_a_decorated_first_statement_is_kept_whole() -> None:
    assert "    x = 1\n    @staticmethod\n" in insert(SOURCE, "outer", "x = 1", where="shelf.py")


@pytest.mark.parametrize(
    ("source", "function", "message"),
    [
        (SOURCE, "cost", "shelf.py has 0 functions named 'cost', not one"),
        (SOURCE + "\n\ndef price(): pass\n", "price", "has 2 functions named 'price'"),
        ("def (", "price", "shelf.py does not parse"),
        (SOURCE, "total", "would not compile"),
    ],
)
def test_a_missing_or_doubtful_anchor_is_refused(source: str, function: str, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        insert(source, function, "if True:\n    x = 1", where="shelf.py")


def test_a_qualified_name_picks_one_of_two_functions_of_the_same_name() -> None:
    twice = SOURCE + "\n\ndef price(): pass\n"
    assert '        rate = 1\n        return item["price"]' in insert(twice, "Shelf.price", "rate = 1", where="shelf.py")
    assert insert(twice, "outer.inner", "x = 1", where="shelf.py").count("        x = 1\n        return 1") == 1


def test_texts_are_replaced_and_all_else_stays() -> None:
    patched = replace(SOURCE, [('item["price"]', 'item["cost"]'), ("import os  # keep", "import re")], where="shelf.py")
    assert patched == SOURCE.replace('item["price"]', 'item["cost"]').replace("import os  # keep", "import re")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cost", "price", "shelf.py has 0 times 'cost', not once"),
        ("item", "thing", "shelf.py has 4 times 'item', not once"),
        ("return sum(items)", "return (", "would not compile with the bug in return sum"),
    ],
)
def test_a_text_that_is_not_there_once_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        replace(SOURCE, [(old, new)], where="shelf.py")
