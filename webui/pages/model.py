"""The model page: learned versions, model card, metrics, calibration."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from revelio.errors import ArtifactError, CatalogError
from revelio.service import Service
from revelio.store import allows
from revelio.support.current_actor import current_actor
from webui.accounts.identity import person_of
from webui.deps import ServiceDep
from webui.forms import read_form
from webui.views.contexts import Learning, ModelPage
from webui.views.model import read_model_folder
from webui.views.templating import render

router = APIRouter(include_in_schema=False)


@router.get("/model")
def model(request: Request, service: ServiceDep) -> Response:
    """What the model folder says of itself; what is damaged is named, the rest is shown."""
    folder = read_model_folder(service.settings.model)
    try:
        catalog = service.catalog.digest
    except CatalogError:
        catalog = ""
    troubles = tuple(t for t in service.troubles() if t != folder.trouble)
    person = person_of(request)
    may_choose = person is None or allows(person.role, "admin")
    return render(request, ModelPage(folder, catalog, troubles, _learning(service, may_choose)))


@router.post("/model/use")
async def use(request: Request, service: ServiceDep) -> Response:
    """Let another version answer from now on."""
    form = await read_form(request)

    def choose() -> None:
        chosen = service.model.versions().use(form.get("version", ""))
        service.store.audit.add(current_actor(), "model.use", chosen)

    await run_in_threadpool(choose)
    return RedirectResponse("/model#learned", 303)


def _learning(service: Service, may_choose: bool) -> Learning | None:
    try:
        versions = service.model.versions()
    except ArtifactError:
        return None
    every = service.settings.learning.every_hours
    trouble = service.model.version_trouble
    current = versions.base.name if trouble else versions.current()
    return Learning(versions.base.name, current, versions.list(), versions.last_run(), trouble, every, may_choose)
