"""The two pages of installing the Slack app in a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fastapi import APIRouter, HTTPException, Request, Response

from webui.errors import problem_response
from webui.views.contexts import Page
from webui.views.templating import render
from webui.webhooks.runtime import WebhookRuntime

_NOT_HERE = (
    "The app cannot be installed from here: set slack.signing_secret, slack.client_id and slack.client_secret; "
    "see `revelio docs slack`."
)


@dataclass(frozen=True, slots=True)
class InstalledPage(Page):
    """The app is in a workspace now."""

    template: ClassVar[str] = "slack_installed.html"
    here: ClassVar[str] = ""
    workspace: str


def add_slack_pages(router: APIRouter, runtime: WebhookRuntime) -> None:
    """``/slack/install`` and where Slack sends people back to. Who gets in may ask about every system, so both are an admin's."""

    async def install() -> Response:
        installing = runtime.installing
        if installing is None:
            raise HTTPException(404, _NOT_HERE)
        away = await runtime.do(installing.leave)
        return Response(status_code=302, headers={name: away.headers[name][0] for name in ("location", "set-cookie")})

    async def come_back(request: Request) -> Response:
        installing = runtime.installing
        if installing is None:
            raise HTTPException(404, _NOT_HERE)
        query, cookie = dict(request.query_params), request.headers.get("cookie", "")
        back = await runtime.do(lambda: installing.come_back(query, cookie))
        installed = back.status == 200
        page = render(request, InstalledPage(back.body)) if installed else problem_response(request, back.status, back.body)
        for cookie in back.headers.get("set-cookie", ()):
            page.headers.append("set-cookie", cookie)
        return page

    router.add_api_route("/slack/install", install, methods=["GET"], include_in_schema=False)
    router.add_api_route("/slack/oauth_redirect", come_back, methods=["GET"], include_in_schema=False)
