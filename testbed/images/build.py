"""Builds one image from a recipe through the engine's API."""

import io
import re
import tarfile
import tempfile
from collections import deque
from pathlib import Path

import docker
from docker.errors import DockerException

from testbed.errors import StackError
from testbed.images.recipes import Recipe
from testbed.progress import Progress, Step

INPUTS_LABEL = "revelio.inputs"
"""The label that an image made here carries: the hash of what it was made from."""


def build(client: docker.DockerClient, recipe: Recipe, artifact: Path | None, progress: Progress) -> None:
    """Build the recipe's image, with the artifact's file in its context. Raises StackError with the build's last words."""
    subject = f"image {recipe.tag}"
    progress(Step(subject, "running", "being built"))
    with tempfile.TemporaryFile() as context:
        with tarfile.open(fileobj=context, mode="w") as tar:
            for name, path in recipe.files():
                tar.add(path, arcname=name)
            if artifact:
                tar.add(artifact, arcname=artifact.name)
        context.seek(0)
        _build(client, recipe, context, progress)
    progress(Step(subject, "done", "built"))


def forget_replaced(client: docker.DockerClient) -> None:
    """Remove the images made here that lost their tag to a newer one and that no container uses."""
    client.images.prune(filters={"dangling": True, "label": INPUTS_LABEL})


def _build(client: docker.DockerClient, recipe: Recipe, context: io.BufferedRandom, progress: Progress) -> None:
    said: deque[str] = deque(maxlen=8)
    labels = {INPUTS_LABEL: recipe.inputs()}
    try:
        lines = client.api.build(
            fileobj=context,
            custom_context=True,
            dockerfile=recipe.dockerfile,
            tag=recipe.tag,
            labels=labels,
            rm=True,
            forcerm=True,
            decode=True,
        )
        for line in lines:
            if "error" in line:
                tail = " | ".join(said)
                raise StackError(f"building {recipe.tag} failed: {line['error']} (before that: {tail})")
            text = str(line.get("stream", "")).strip()
            if text:
                said.append(text)
            if re.match(r"Step \d+/\d+", text):
                progress(Step(f"image {recipe.tag}", "running", text[:60]))
    except DockerException as error:
        raise StackError(f"building {recipe.tag} failed: {error}") from error
