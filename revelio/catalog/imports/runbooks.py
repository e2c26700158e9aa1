"""Runbooks in Markdown: queries in fenced code become questions; commands of a shell are shown beside them, never run."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from revelio.catalog.imports.promql import UnusableError, judged, with_placeholders
from revelio.catalog.imports.question import MOST_BODY, MOST_TEXT, MOST_TITLE, Collector, ImportedQuestion, plain

_SHELL = frozenset({"sh", "bash", "shell", "console", "zsh", "kubectl"})
_PROMPT = re.compile(r"^\s*(?:\$|#|>)\s+")
_PROMQL = re.compile(r"^[a-zA-Z_:(][\w:]*\s*(?:[({\[]|$)|\b(?:rate|increase|histogram_quantile|sum|avg|max|min)\b.*\(", re.DOTALL)
_LOGQL = re.compile(r"\}\s*\|[=~]|\|\s*(?:logfmt|json|unwrap|pattern)\b")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"""^title:[ \t]*["']?(.*?)["']?[ \t]*$""", re.MULTILINE)
_OTHER_QUERIES = frozenset({"logql", "traceql", "kql", "lucene", "esql", "es|ql", "redis", "mongodb"})
_READS = re.compile(r"^\s*(?:SELECT|WITH|SHOW|EXPLAIN\s+SELECT)\b", re.IGNORECASE)


def read_runbook(text: str, where: str, into: Collector, link: str = "") -> None:
    """The steps of one runbook. Its first heading is its title, else that of its front matter.

    Each question is about the section that it stands in, and says what the runbook is about: the words before its first code.
    """
    head = _FRONT_MATTER.match(text)
    tokens = MarkdownIt().parse(text[head.end() :] if head else text)
    named = _TITLE.search(head[0]) if head else None
    title, section, words = plain(named[1] if named else where.rpartition("/")[2], 60), "", ""
    steps: list[tuple[str, str, str, str]] = []
    shell: dict[str, list[str]] = {}
    about: list[str] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = plain(tokens[index + 1].content, MOST_TITLE - 40)
            title, section = (plain(heading, 60), "") if token.tag == "h1" else (title, heading)
            words = ""
        elif token.type == "inline" and tokens[index - 1].type == "paragraph_open":
            words = plain(token.content, MOST_TEXT // 2)
            if not steps and not shell:
                about.append(words)
        elif token.type in ("fence", "code_block") and token.content.strip():
            language = (token.info.split() or [""])[0].lower()
            if language in _SHELL or (not language and token.content.lstrip().startswith(("kubectl ", "$ "))):
                shell.setdefault(section, []).extend(_PROMPT.sub("", line) for line in token.content.splitlines() if line.strip())
            else:
                steps.append((section, words, language, token.content.strip()))
    asked = {section for section, *_ in steps}
    for section, words, language, code in steps:
        beside = shell.get(section, [])
        _step(code, language, (title, section, _together(about, words), beside), where, into, link)
    alone = sum(len(lines) for section, lines in shell.items() if section not in asked)
    if alone:
        into.problems.append(f"{where}: {alone} shell commands stand in sections without a query; Revelio never runs them")
    if not steps and not alone:
        into.problems.append(f"{where}: holds no query in fenced code")


def _together(about: list[str], words: str) -> str:
    """What the runbook is about, cut to leave room for the words right before the step."""
    before = " ".join(part for part in about if part != words)
    return f"{plain(before, max(0, MOST_TEXT // 3 * 2 - len(words)))} {words}".strip() if before else words


def _step(code: str, language: str, about: tuple[str, str, str, list[str]], where: str, into: Collector, link: str) -> None:
    title, section, words, shell = about
    name = f"{where}: {section or title}"
    if len(code) > MOST_BODY:
        into.problems.append(f"{name}: the code is longer than {MOST_BODY:,} characters")
        return
    body, blanks = code, tuple[tuple[str, str], ...]()
    if language == "sql" or (not language and _READS.match(code)):
        tool = "postgres"
        if not _READS.match(code) or "${" in code:
            into.problems.append(f"{name}: the SQL does more than read, or has placeholders")
            return
    elif language in ("promql", "prometheus") or (not language and _PROMQL.match(code) and not _LOGQL.search(code)):
        tool = "prometheus"
        try:
            body, blanks = with_placeholders(judged(code), {})
        except UnusableError as why:
            into.problems.append(f"{name}: the expression {why}")
            return
    else:
        if language in _OTHER_QUERIES or _LOGQL.search(code):
            into.problems.append(f"{name}: queries in {language or 'LogQL'} are not imported")
        return
    beside = f" Also in the runbook, for you to run: {plain('; '.join(shell), 200)}." if shell else ""
    step = f'From your runbook "{title}"' + (f', section "{section}".' if section else ".")
    into.questions.append(
        ImportedQuestion(tool, _titled(title, section), plain(words + beside, MOST_TEXT), body, step, link, blanks)
    )


def _titled(title: str, section: str) -> str:
    return plain(f"{title}: {section}" if section and section != title else title, MOST_TITLE)
