"""The model that ranks: what it learnt, its card, its figures, how well its probabilities hold."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from revelio.errors import ArtifactError, CatalogError
from revelio.store import allows
from webui.accounts.who import acting, person_of
from webui.api import TheDesk
from webui.contexts import Learning, ModelPage
from webui.desk import Desk
from webui.model_folder import read_model_folder
from webui.pages.forms import read_form
from webui.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/model")
def model(request: Request, desk: TheDesk) -> Response:
    """What the model folder says of itself; what is damaged is named, the rest is shown."""
    folder = read_model_folder(desk.bench.settings.model)
    try:
        catalog = desk.bench.catalog.digest
    except CatalogError:
        catalog = ""
    troubles = tuple(t for t in desk.troubles() if t != folder.trouble)
    person = person_of(request)
    may_choose = person is None or allows(person.role, "admin")
    return render(request, ModelPage(folder, catalog, troubles, _learning(desk, may_choose)))


@router.post("/model/use")
async def use(request: Request, desk: TheDesk) -> Response:
    """Let another version answer from now on."""
    form = await read_form(request)

    def choose() -> None:
        chosen = desk.bench.versions().use(form.get("version", ""))
        desk.store.audit.add(acting(), "model.use", chosen)

    await run_in_threadpool(choose)
    return RedirectResponse("/model#learnt", 303)


def _learning(desk: Desk, may_choose: bool) -> Learning | None:
    try:
        versions = desk.bench.versions()
    except ArtifactError:
        return None
    every = desk.bench.settings.learning.every_hours
    trouble = desk.bench.version_trouble
    current = versions.base.name if trouble else versions.current()
    return Learning(versions.base.name, current, versions.list(), versions.last_run(), trouble, every, may_choose)
