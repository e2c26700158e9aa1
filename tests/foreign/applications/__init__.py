"""Applications by others, each on a machine of its own with the exporters that their documentation recommends."""

from __future__ import annotations

from collections.abc import Mapping

from tests.foreign.application import Application
from tests.foreign.applications.keycloak import Keycloak
from tests.foreign.applications.kubernetes import Kubernetes
from tests.foreign.applications.miniflux import Miniflux
from tests.foreign.applications.nautobot import Nautobot
from tests.foreign.applications.registry import Registry
from tests.foreign.applications.wordpress import WordPress

APPLICATIONS: Mapping[str, Application] = {
    app.name: app for app in (WordPress(), Registry(), Keycloak(), Nautobot(), Kubernetes(), Miniflux())
}
