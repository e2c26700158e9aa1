"""The HTTP API, for programs."""

from webui.api.accounts import accounts_api
from webui.api.answers import api
from webui.api.probes import probes
from webui.deps import ServiceDep, get_service

__all__ = ["ServiceDep", "accounts_api", "api", "get_service", "probes"]
