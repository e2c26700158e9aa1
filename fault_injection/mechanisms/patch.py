"""Changes a source in one place and leaves the rest of it as it is, to the letter."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from textwrap import dedent, indent

from revelio.errors import FaultError

Function = ast.FunctionDef | ast.AsyncFunctionDef


def insert(source: str, function: str, statements: str, *, where: str) -> str:
    """The source with ``statements`` as the first of ``function`` (after its docstring). ``where`` names it in errors.

    ``function`` is its qualified name, or enough of its end. Raises ``FaultError`` when there is not exactly one such
    function, or when what results does not compile.
    """
    try:
        found = [node for name, node in _functions(ast.parse(source), "") if f".{name}".endswith(f".{function}")]
    except SyntaxError as error:
        raise FaultError(f"{where} does not parse: {error}") from error
    if len(found) != 1:
        count = len(found)
        raise FaultError(
            f"{where} has {count} functions named {function!r}, not one; the bug's anchor must be brought up to date"
        )
    body = found[0].body
    first = body[1] if ast.get_docstring(found[0]) is not None and len(body) > 1 else body[0]
    lines = source.splitlines(keepends=True)
    at = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1
    text = indent(dedent(statements).strip("\n"), " " * first.col_offset) + "\n"
    return _compiling("".join([*lines[:at], text, *lines[at:]]), where, function)


def replace(source: str, pairs: Sequence[tuple[str, str]], *, where: str) -> str:
    """The source with each pair's first text, which it has exactly once, replaced by the second.

    Raises ``FaultError`` when it does not have one of them once, or when what results does not compile.
    """
    patched = source
    for old, new in pairs:
        if (count := source.count(old)) != 1:
            raise FaultError(f"{where} has {count} times {old.strip()!r}, not once; the bug must be brought up to date")
        patched = patched.replace(old, new)
    return _compiling(patched, where, pairs[0][0].strip())


def _compiling(patched: str, where: str, what: str) -> str:
    try:
        compile(patched, where, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise FaultError(f"{where} would not compile with the bug in {what}: {error}") from error
    return patched


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)
