"""Builds the application. Nothing is built at import."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from revelio import __version__
from revelio.settings import Settings
from revelio.workbench import Workbench
from webui.accounts.gate import Gate
from webui.accounts.pages import SignInThrottle, account_pages
from webui.accounts.provider_pages import provider_pages
from webui.api import accounts_api, api, probes
from webui.desk import Desk
from webui.figures import Figures, RequestFigures
from webui.forgetting import Forgetting
from webui.guards import BodyLimit, SameOrigin, SecurityHeaders
from webui.learning import Learning
from webui.listening import require_safe_address
from webui.opening import open_store
from webui.pages import pages
from webui.problems import add_handlers
from webui.reference import reference
from webui.rendering import STATIC
from webui.request_ids import RequestIds
from webui.webhooks import webhooks

_ABOUT = "Turns a vague bug report into the few debugging queries most likely to show its root cause."
_BYTES_PER_CHARACTER = 12
"""The longest that one character can be when a browser or JSON escapes it."""


def create_app(settings: Settings, *, bench: Workbench | None = None) -> FastAPI:
    """The web page and the API. ``bench`` replaces the workbench that the settings describe.

    Raises ``InvalidInputError`` when the settings name an address other than loopback and nobody has to sign in, or nobody
    could, ``StoreError`` when the database cannot be opened. A damaged model is no reason not to start: ``/readyz`` and
    every page say what is wrong with it.
    """
    require_safe_address(settings)
    figures = Figures()
    store = open_store(settings)
    desk = Desk(bench or Workbench(settings), store, figures)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # The model loads while the first person still reads the page.
        threading.Thread(target=desk.troubles, name="warm-up", daemon=True).start()
        forget, learn = Forgetting(store, settings.keep_days), Learning(desk.bench)
        yield
        learn.stop()
        forget.stop()
        desk.bench.close()
        desk.store.close()

    app = FastAPI(
        title="Revelio",
        summary=_ABOUT,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.state.desk = desk
    app.state.sign_in_throttle = SignInThrottle()
    add_handlers(app)
    for router in (api, accounts_api, account_pages, provider_pages, probes, reference, pages, webhooks(settings, desk)):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    # The last one added is the first to see a request.
    app.add_middleware(BodyLimit, limit=settings.max_report_chars * _BYTES_PER_CHARACTER + 16_384)
    app.add_middleware(Gate, store=store, required=settings.accounts, per_minute=settings.rate_limit)
    app.add_middleware(SameOrigin, names=settings.names)
    app.add_middleware(RequestFigures, figures=figures)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestIds)
    return app
