"""Container images made from package registries, under the tags that a machine with an image registry pulls."""

from testbed.images.ensure import Mode, ensure

__all__ = ["Mode", "ensure"]
