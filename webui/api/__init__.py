"""The HTTP API, for programs."""

from webui.api.accounts import accounts_api
from webui.api.answers import api
from webui.api.desk import TheDesk, desk_of
from webui.api.probes import probes

__all__ = ["TheDesk", "accounts_api", "api", "desk_of", "probes"]
