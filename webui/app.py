"""Builds the application. Nothing is built at import."""

from __future__ import annotations

import logging
import re
import secrets
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from asgi_correlation_id import CorrelationIdMiddleware
from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from revelio import __version__
from revelio.errors import RevelioError
from revelio.ranker.recommender import Recommender
from revelio.service import Service
from revelio.settings import Settings
from webui.accounts.middleware import AccessMiddleware
from webui.accounts.rate_limit import SignInRateLimit
from webui.api import accounts_api, api, probes
from webui.demo import DemoOnly, DemoRetention
from webui.errors import add_handlers
from webui.jobs.imports import ImportJob
from webui.jobs.learning import LearningJob
from webui.jobs.retention import RetentionJob
from webui.middleware.compression import Compression
from webui.middleware.language import AcceptLanguage
from webui.middleware.metrics import RequestMetrics
from webui.middleware.security import BodyLimit, SameOrigin, SecurityHeaders
from webui.pages import pages
from webui.pages.accounts import account_pages
from webui.pages.oidc import oidc_pages
from webui.pages.progress import Questions
from webui.startup import open_store, require_safe_address
from webui.views.api_docs import api_docs
from webui.views.templating import STATIC, load_templates
from webui.webhooks.routes import webhooks

log = logging.getLogger(__name__)

_ABOUT = "Turns a vague bug report into the few debugging queries most likely to show its root cause."
_BYTES_PER_CHARACTER = 12
"""The longest that one character can be when a browser or JSON escapes it."""


def new_request_id() -> str:
    """16 hex digits."""
    return secrets.token_hex(8)


def is_request_id(given: str) -> bool:
    """Whether a proxy's request id is safe to log and return."""
    return re.fullmatch(r"[A-Za-z0-9._-]{1,64}", given) is not None


def create_app(settings: Settings, *, recommender: Recommender | None = None, demo: bool = False) -> FastAPI:
    """The web page and the API. ``recommender`` replaces the model that the settings name.

    A ``demo`` takes the settings of ``demo_settings``; it may listen anywhere.

    Raises ``InvalidInputError`` for an address other than loopback while accounts are off, and for accounts without an admin;
    ``StoreError`` when the database cannot be opened. A damaged model does not stop the start: ``/readyz`` and every page
    report it.
    """
    if not demo:
        require_safe_address(settings)
    store = open_store(settings)
    service = Service(settings, recommender=recommender, store=store)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # While the first person still reads the page.
        threading.Thread(target=_warm_up, args=(service,), name="warm-up", daemon=True).start()
        forget = DemoRetention(store) if demo else RetentionJob(store, settings.keep_days)
        learn = LearningJob(service)
        imports = ImportJob(settings)
        yield
        imports.stop()
        learn.stop()
        forget.stop()
        service.close()

    app = FastAPI(
        title="Revelio",
        summary=_ABOUT,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.state.service = service
    app.state.demo = demo
    app.state.questions = Questions()
    app.state.sign_in_rate_limit = SignInRateLimit()
    add_handlers(app)
    for router in (api, accounts_api, account_pages, oidc_pages, probes, api_docs, pages, webhooks(settings, service)):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    # The last one added is the first to see a request.
    app.add_middleware(Compression)
    app.add_middleware(BodyLimit, limit=settings.max_report_chars * _BYTES_PER_CHARACTER + 16_384)
    app.add_middleware(AccessMiddleware, store=store, required=settings.accounts, per_minute=settings.rate_limit)
    if demo:
        app.add_middleware(DemoOnly)
    app.add_middleware(SameOrigin, names=settings.names)
    app.add_middleware(RequestMetrics, metrics=service.metrics)
    app.add_middleware(AcceptLanguage)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(CorrelationIdMiddleware, header_name="X-Request-Id", generator=new_request_id, validator=is_request_id)
    return app


def _warm_up(service: Service) -> None:
    """Load everything that the first question waits for."""
    load_templates()
    try:
        service.warm_up()
    except RevelioError as error:
        log.warning("the first question will take longer: %s", error)
