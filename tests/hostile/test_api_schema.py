"""Cases generated from the API's own description: every answer is one that the description names."""

from __future__ import annotations

from typing import Any

import schemathesis
import schemathesis.core.result
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.hostile.conftest import Serve
from tests.hostile.tally import Tally

EACH = 260
"""Cases of each operation."""
LEFT_OUT = ("/api/v1/tokens", "/api/v1/users")
"""They would make accounts by the hundred; ``test_requests`` reaches them."""


def test_cases_of_every_operation(serve: Serve, tally: Tally) -> None:
    server = serve("rate_limit = 0\ntimeout_s = 1.0\n")
    schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, schemathesis.core.result.Ok)]
    wanted = [operation for operation in operations if not operation.path.startswith(LEFT_OUT)]
    assert len(wanted) >= 8
    before = len(tally.failures)
    for operation in wanted:

        @settings(
            max_examples=EACH, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
        )
        @given(
            case=st.one_of(operation.as_strategy(), operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
        )
        def try_each(case: schemathesis.Case[Any]) -> None:
            tally.add(api_cases=1)
            reply = case.call(base_url=server.url, timeout=60)
            if reply.status_code >= 500 and reply.status_code not in (502, 503):
                tally.found("failures", f"{reply.status_code} to {case.method} {case.path}")
            server.search("an answer of the API", reply.text)

        try_each()
    assert tally.failures[before:] == []
