"""The model that ranks: its card, its figures, how well its probabilities hold."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from revelio.errors import CatalogError
from webui.api import TheDesk
from webui.contexts import ModelPage
from webui.model_folder import read_model_folder
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
    return render(request, ModelPage(folder, catalog, troubles))
