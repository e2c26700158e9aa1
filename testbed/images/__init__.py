"""Container images made from package registries, under the tags that a machine with an image registry pulls."""

from testbed.images.build import forget_replaced
from testbed.images.pull_or_make import Mode, ensure

__all__ = ["Mode", "ensure", "forget_replaced"]
