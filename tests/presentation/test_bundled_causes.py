"""What is said of each bundled incident: one sentence and one step, whatever model ranked the queries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.catalog import bundled_catalog
from revelio.presentation import cause_sentence
from revelio.settings import BUNDLED
from revelio.systems.incidents.recorded import RecordedIncidents
from revelio.types import Query, RankedQuery, Recommendation

ROLL_BACK = "Next: read what changed from {0} to {1}, or roll {2} back."
LINES = "Next: read the lines of {0} around the first of them, and the code that writes them."
USES = "Next: find what uses it up in {0}, or raise the limit."

SAID = {
    ("forum-02c35749e6", "prometheus.cpu_of_limit web"): (
        "CPU use of web against its limit: 58.8 % (normally 7.54 to 8.54 %, 7.4 × normal) since 17:54:26 UTC; "
        f"3 of 8 requests for GET /search at web failed. {USES.format('web')}"
    ),
    ("shop-0e06ec2115", "tcpdump.unanswered_syns gateway search tcpdump"): (
        "Unanswered SYNs from gateway to search: 2.37 SYNs/s (normally none) since 18:00:03 UTC; gateway logs “call to search "
        "failed: GET /search: no answer in time” 12 times, the first 3 s later. "
        "Next: check whether search answers, and what lies between gateway and search."
    ),
    ("shop-1c17e4b235", "elasticsearch.new_patterns_of postgres"): (
        "postgres rejects “INSERT INTO orders”: “there is no unique or exclusion constraint matching the ON CONFLICT "
        "specification” 26 times since 18:21:17 UTC; 26 of 26 requests for POST /checkout at gateway failed. "
        f"{LINES.format('postgres')}"
    ),
    ("shop-1ce5229f13", "prometheus.version notifier"): (
        f"notifier updated 1.4.2 → 1.4.3 at 18:22:05 UTC. {ROLL_BACK.format('1.4.2', '1.4.3', 'notifier')}"
    ),
    ("shop-2e0f69487b", "prometheus.version products"): (
        f"products updated 1.4.2 → 1.4.3 at 18:58:00 UTC. {ROLL_BACK.format('1.4.2', '1.4.3', 'products')}"
    ),
    ("shop-31f2988260", "tcpdump.dns_failures users"): (
        "users gets no answer from DNS for postgres (2 of 5 look-ups) and redis (2 of 6 look-ups); "
        "12 of 12 requests for POST /login at gateway failed. Next: check the name server that users asks."
    ),
    ("shop-33cbfd96ef", "containers.state recommendations"): (
        "recommendations is paused: it runs nothing since 19:05:58 UTC; 7 of 7 requests for "
        "GET /products/{id:int}/recommendations at gateway failed. "
        "Next: let recommendations go on, and find out who paused it."
    ),
    ("forum-35c30714ee", "prometheus.version web"): (
        "web updated 2.7.0 → 2.7.1 at 19:06:44 UTC; web logs “unhandled TimeoutError in POST /login” 10 times, the first 6 s "
        f"later. {ROLL_BACK.format('2.7.0', '2.7.1', 'web')}"
    ),
    ("shop-343a008042", "containers.limits orders"): (
        "CPU limit of orders cut from 0.5 to 0.0366 cores at 19:07:41 UTC; POST /checkout at gateway takes 2.69 s "
        "(p95, normally 369 ms). Next: find out who changed it, or set it back to 0.5 cores."
    ),
    ("shop-3c797185a7", "prometheus.version shipping"): (
        "shipping updated 1.4.2 → 1.4.3 at 19:22:22 UTC; shipping logs “unhandled TimeoutError in GET /quotes” 14 times, the "
        f"first 8 s later. {ROLL_BACK.format('1.4.2', '1.4.3', 'shipping')}"
    ),
    ("shop-47365e26b2", ""): (
        "Nothing points at a fault (99%). Next: if it goes on, ask again with the time at which it was seen."
    ),
    ("shop-11d9ce35e0", "prometheus.cpu_of_limit orders"): (
        "CPU use of orders against its limit: 98.9 % (normally 4.61 to 8.7 %, 14 × normal) since 19:14:36 UTC; "
        f"POST /checkout at gateway takes 6.31 s (p95, normally 381 ms). {USES.format('orders')}"
    ),
}
"""Expected, by incident and the query that comes first: its template and the names that it is bound to."""

TWO_FAULTS = [
    (
        "travel-435f94bb1ba",
        "containers.state auth",
        "Nobody can log in",
        "auth stopped at 19:34:05 UTC (code 0) and did not start again; 34 of 83 requests for POST /login at gateway failed. "
        "Next: read what auth logged last before it.",
    ),
    (
        "travel-435f94bb1ba",
        "prometheus.cpu_of_limit seats",
        "The seat map does not load",
        "CPU use of seats against its limit: 140 % (normally 7.8 to 12.7 %, 13 × normal) since 19:33:42 UTC; seats logs "
        f"“unhandled TimeoutError in GET /free” 10 times, the first 4 s later. {USES.format('seats')}",
    ),
    (
        "travel-8c5db872bca",
        "prometheus.processes trips",
        "Searching trips fails",
        "Threads of trips: 363 threads (normally 12 to 14 threads, 26 × normal) since 20:07:22 UTC; 105 of 169 requests for "
        "GET /trips at gateway failed. Next: look at what else changed at trips when it began.",
    ),
    (
        "travel-8c5db872bca",
        "elasticsearch.new_patterns_of booking",
        "I cannot cancel my booking",
        "booking logs “unhandled ValueError in POST /accounts/100001/bookings/X76NTLNT/cancellation” 28 times since 20:07:37 "
        "UTC; 89 of 97 requests for POST /bookings/{reference}/cancel at gateway failed. "
        f"{LINES.format('booking')}",
    ),
]
"""Expected of incidents with two faults in force, by what the user said."""


def answered(incident_id: str, first: str, report: str = "") -> Recommendation:
    """An answer whose only query is the one named, with the result that it had when the incident was recorded."""
    recorded = RecordedIncidents(BUNDLED / "incidents").get(incident_id)
    template, *names = (first or "containers.all_events").split(" ")
    kept = next(r for r in recorded.results if r.template == template and sorted(v for _, v in r.bindings) == sorted(names))
    query = Query(bundled_catalog().template(template), kept.bindings)
    ranked = RankedQuery(query, 1, 0.9, (), result=kept.result if first else None)
    incident = replace(recorded.incident(), report=report) if report else recorded.incident()
    return Recommendation(incident, (ranked,), 0.0 if first else 0.99, "test")


@pytest.mark.parametrize(("asked", "sentence"), SAID.items(), ids=[incident for incident, _ in SAID])
def test_a_reader_from_another_team_understands_what_is_wrong_and_what_to_do(asked: tuple[str, str], sentence: str) -> None:
    assert cause_sentence(answered(*asked)) == sentence


@pytest.mark.parametrize(("incident", "first", "report", "sentence"), TWO_FAULTS, ids=[row[1] for row in TWO_FAULTS])
def test_of_two_faults_the_sentence_tells_what_the_user_complains_of(
    incident: str, first: str, report: str, sentence: str
) -> None:
    assert cause_sentence(answered(incident, first, report)) == sentence


def test_every_bundled_incident_has_its_sentence() -> None:
    assert {incident for incident, _ in SAID} | {row[0] for row in TWO_FAULTS} == set(
        RecordedIncidents(BUNDLED / "incidents").ids()
    )
