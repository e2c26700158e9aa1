"""Pull or make: sees to it that every image of a stack is there and up to date."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound

from testbed.errors import StackError
from testbed.images.artifacts import Artifact, obtain
from testbed.images.build import INPUTS_LABEL, build
from testbed.images.recipes import Recipe
from testbed.progress import Progress, Step

Mode = Literal["auto", "pull", "make"]
REGISTRY_TIMEOUT = 5
"""Seconds within which a registry must answer to be worth pulling from."""


def ensure(client: docker.DockerClient, recipes: Sequence[Recipe], mode: Mode, progress: Progress) -> None:
    """Have every recipe's image in the engine.

    `auto` keeps what is there, else pulls what is published where its registry answers, else makes it; `pull` never makes a
    published image; `make` never pulls. An image that was made is made again when its inputs have changed. Raises StackError.
    """
    registries: dict[str, bool] = {}
    to_make: list[Recipe] = []

    def need(recipe: Recipe) -> None:
        if recipe in to_make or _present(client, recipe, mode):
            return
        if recipe.published and _pull(client, recipe, mode, registries, progress):
            return
        if recipe.base:
            need(recipe.base)
        to_make.append(recipe)

    for recipe in recipes:
        need(recipe)
    _make(client, to_make, progress)


def _present(client: docker.DockerClient, recipe: Recipe, mode: Mode) -> bool:
    try:
        image = client.images.get(recipe.tag)
    except ImageNotFound:
        return False
    made_from = image.labels.get(INPUTS_LABEL)
    if made_from is None:
        return recipe.published and mode != "make"
    return bool(made_from == recipe.inputs())


def _pull(client: docker.DockerClient, recipe: Recipe, mode: Mode, registries: dict[str, bool], progress: Progress) -> bool:
    """Whether the image was pulled. Each registry is asked once."""
    if mode == "make":
        return False
    registry = recipe.tag.split("/")[0] if "." in recipe.tag.split("/")[0] else ""
    if mode == "auto":
        if registry not in registries:
            registries[registry] = _answers(recipe.tag)
        if not registries[registry]:
            return False
    subject = f"image {recipe.tag}"
    progress(Step(subject, "running", "being pulled"))
    try:
        client.images.pull(recipe.tag)
    except (DockerException, requests.RequestException) as error:
        if mode == "pull":
            raise StackError(
                f"cannot pull {recipe.tag}: {error}. Where no registry can be reached, make it: --images make"
            ) from error
        return False
    progress(Step(subject, "done", "pulled"))
    return True


def _answers(tag: str) -> bool:
    """Whether the engine gets an answer about the tag from its registry soon."""
    client = docker.from_env(timeout=REGISTRY_TIMEOUT)
    try:
        client.images.get_registry_data(tag)
    except (APIError, requests.RequestException):
        return False
    finally:
        client.close()
    return True


def _make(client: docker.DockerClient, recipes: Sequence[Recipe], progress: Progress) -> None:
    """Build in the given order while the artifacts, slowest (last) first after the bases, are made in the background."""
    is_base = {recipe.base for recipe in recipes}
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="artifact") as pool:
        made: dict[Artifact, Future[Path]] = {}
        for recipe in sorted(reversed(list(recipes)), key=lambda recipe: recipe not in is_base):  # noqa: C414
            if recipe.artifact:
                made[recipe.artifact] = pool.submit(obtain, recipe.artifact, progress)
        try:
            for recipe in recipes:
                build(client, recipe, made[recipe.artifact].result() if recipe.artifact else None, progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
