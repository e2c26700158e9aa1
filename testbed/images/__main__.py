"""``python -m testbed.images``: pulls the base image of the product's Dockerfile, or makes it where no registry answers."""

import docker

from testbed.images import ensure
from testbed.images.recipes import PYTHON

if __name__ == "__main__":
    ensure(docker.from_env(), [PYTHON], "auto", lambda step: print(step.subject, step.phase))
