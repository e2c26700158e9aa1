"""Renders a page from its context dataclass. Text from reports and telemetry is escaped by Jinja's autoescape."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, PackageLoader, StrictUndefined

from revelio import __version__
from webui import i18n
from webui.views import filters
from webui.views.contexts import Page
from webui.views.words import word

STATIC = Path(__file__).parent.parent / "static"


@cache
def templates() -> Jinja2Templates:
    """The environment: an undefined name in a template is an error, not an empty string."""
    environment = Environment(
        loader=PackageLoader("webui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(i18n.gettext, i18n.ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.filters.update(
        percent=filters.percent,
        moment=filters.moment,
        iso=filters.iso,
        clock=filters.clock,
        ago=filters.ago,
        whole=filters.whole,
        decimal=filters.decimal,
        figure=filters.figure,
        seconds=filters.seconds,
        word=word,
        duration=filters.duration,
        cell=filters.cell,
        prose=filters.prose,
        sentence=filters.sentence,
        blanks=filters.blanks,
        share=filters.share,
        shorten=filters.shorten,
    )
    environment.globals.update(version=__version__, language_tag=i18n.language_tag, text_direction=i18n.text_direction)
    return Jinja2Templates(env=environment)


def load_templates() -> None:
    """Compile all of them, which the first view of a page would wait for."""
    environment = templates().env
    for name in environment.list_templates():
        environment.get_template(name)


def render(request: Request, page: Page, *, status: int = 200, template: str | None = None) -> HTMLResponse:
    """The page's template (or ``template``, a part of it) with ``page``, and ``demo``: whether this server shows a demo."""
    given = {"page": page, "demo": getattr(request.app.state, "demo", False)}
    return templates().TemplateResponse(request, template or page.template, given, status_code=status)
