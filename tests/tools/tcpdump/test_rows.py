"""Packets added up: what counts as lost, cut off, refused, unanswered or slow, by whom, and over which time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.tools.base import Scope
from revelio.tools.tcpdump.packets import FIELDS, Flow, FormError, Reader, Tally, Traffic
from revelio.tools.tcpdump.views import VIEWS, inventory, percentile, series_of
from revelio.types import Window
from tests.tools.conftest import NOW, SCOPE, spec

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
AT = NOW - 10.0
"""Ten seconds before the window ends."""


def row(at: float, source: str, target: str, length: int = 66, /, **fields: Any) -> bytes:
    """One packet as tshark writes it; fields by their names, with dots as underscores."""
    known = {"frame_time_epoch": f"{at:.9f}", "frame_interface_name": "unknown", "frame_len": length}
    told = known | {"ip_src_host": source, "ip_dst_host": target} | fields
    assert not set(told) - {name.replace(".", "_") for name in FIELDS}
    return "\t".join(str(told.get(name.replace(".", "_"), "")) for name in FIELDS).encode()


def tcp(at: float, source: str, target: str, flags: int, carried: int = 0, stream: int = 0, **fields: Any) -> bytes:
    """A segment; port 8000 is on the side that is called ``cart``."""
    near, far = (8000, 40_000 + stream) if source == "cart" else (40_000 + stream, 8000)
    own: dict[str, Any] = {
        "tcp_stream": stream,
        "tcp_srcport": near,
        "tcp_dstport": far,
        "tcp_flags": f"0x{flags:04x}",
        "tcp_len": carried,
    }
    return row(at, source, target, 66 + carried, **(own | fields))


def dns(at: float, host: str, name: str, number: int = 1, answer: int | None = None, server: str = "127.0.0.11") -> bytes:
    """A question of that container to the engine's name server, or the answer to it."""
    ends = ("127.0.0.1", server) if answer is None else (server, "127.0.0.1")
    told: dict[str, Any] = {"dns_flags_response": int(answer is not None), "dns_flags_rcode": "" if answer is None else answer}
    ports: dict[str, Any] = {"udp_srcport": 40_000, "udp_dstport": 53}
    return row(at, *ends, frame_interface_name=host, dns_id=f"0x{number:04x}", dns_qry_name=name, **ports, **told)


def read(*rows: bytes, scope: Scope = SCOPE, end: float = NOW, truncated: bool = False) -> Traffic:
    reader = Reader(scope, end)
    for line in rows:
        reader.take(line)
    return reader.traffic(truncated)


CALL = Flow("gateway", "cart", 8000, "TCP")


def total(traffic: Traffic, flow: Flow = CALL) -> Tally:
    """A flow's tallies of all buckets together."""
    whole = Tally()
    for tally in traffic.flows.get(flow, {}).values():
        for side, more in ((whole.client, tally.client), (whole.server, tally.server)):
            for name in ("packets", "bytes", "resent", "gaps", "resets", "zero_windows"):
                setattr(side, name, getattr(side, name) + getattr(more, name))
        whole.syns += tally.syns
        whole.unanswered += tally.unanswered
        whole.refused += tally.refused
        whole.waits += tally.waits
    return whole


def handshake(at: float, stream: int = 0) -> list[bytes]:
    return [
        tcp(at, "gateway", "cart", SYN, stream=stream),
        tcp(at + 0.001, "cart", "gateway", SYN | ACK, stream=stream),
        tcp(at + 0.002, "gateway", "cart", ACK, stream=stream),
    ]


def test_who_connects_is_the_client_and_each_side_has_its_own_figures() -> None:
    whole = total(read(*handshake(AT), tcp(AT + 1, "cart", "gateway", ACK, 34)))
    assert (whole.client.packets, whole.client.bytes) == (2, 132)
    assert (whole.server.packets, whole.server.bytes) == (2, 166)
    assert (whole.syns, whole.unanswered, whole.refused) == (1, 0, 0)


def test_of_a_connection_from_before_the_capture_the_lower_port_is_the_servers() -> None:
    for first in (
        tcp(AT, "cart", "gateway", ACK, 10),
        tcp(AT, "gateway", "cart", ACK, 10),
        tcp(AT, "cart", "gateway", SYN | ACK),
    ):
        assert list(read(first).flows) == [CALL]


def test_lost_packets_count_for_the_side_that_sent_them() -> None:
    again: dict[str, Any] = {"tcp_analysis_retransmission": "1"}
    gap: dict[str, Any] = {"tcp_analysis_lost_segment": "1"}
    whole = total(read(tcp(AT, "gateway", "cart", ACK, 5, **again), tcp(AT, "cart", "gateway", ACK, 5, **gap)))
    assert (whole.client.resent, whole.client.gaps, whole.server.resent, whole.server.gaps) == (1, 0, 0, 1)


def test_a_zero_window_counts_for_who_announces_it() -> None:
    whole = total(read(tcp(AT, "cart", "gateway", ACK, tcp_analysis_zero_window="1")))
    assert (whole.client.zero_windows, whole.server.zero_windows) == (0, 1)


def test_a_reset_instead_of_an_answer_is_a_refusal_and_a_later_one_is_not() -> None:
    refused = total(read(tcp(AT, "gateway", "cart", SYN), tcp(AT + 0.001, "cart", "gateway", RST | ACK)))
    assert (refused.refused, refused.unanswered, refused.server.resets) == (1, 0, 1)
    cut = total(read(*handshake(AT), tcp(AT + 1, "cart", "gateway", RST)))
    assert (cut.refused, cut.server.resets) == (0, 1)


def test_an_icmp_unreachable_refuses_whoever_it_is_sent_to() -> None:
    whole = total(
        read(row(AT, "cart", "gateway", icmp_type="3", tcp_srcport=40_000, tcp_dstport=8000)),
        Flow("gateway", "cart", 8000, "ICMP"),
    )
    assert whole.refused == 1
    assert total(read(row(AT, "cart", "gateway", icmp_type="0")), Flow("gateway", "cart", 0, "ICMP")).refused == 0


def test_syns_without_an_answer_are_counted_each() -> None:
    traffic = read(*(tcp(AT + i, "gateway", "cart", SYN) for i in (0.0, 1.0, 3.0)))
    assert total(traffic).unanswered == 3


def test_a_syn_that_had_to_be_sent_again_was_unanswered_once() -> None:
    again = read(tcp(AT - 1, "gateway", "cart", SYN), *handshake(AT))
    assert total(again).unanswered == 1


def test_a_syn_just_before_the_end_may_still_be_answered() -> None:
    assert total(read(tcp(NOW - 0.5, "gateway", "cart", SYN))).unanswered == 0


def test_an_answer_takes_from_the_request_to_its_first_byte() -> None:
    rows = [
        tcp(AT, "gateway", "cart", ACK, 100),
        tcp(AT + 0.05, "gateway", "cart", ACK, 100),  # the rest of the request
        tcp(AT + 0.1, "cart", "gateway", ACK),
        tcp(AT + 0.3, "cart", "gateway", ACK, 500),
        tcp(AT + 0.4, "cart", "gateway", ACK, 500),  # the rest of the answer
        tcp(AT + 1.0, "gateway", "cart", FIN | ACK),
    ]
    assert total(read(*rows)).waits == pytest.approx([0.3])


def test_who_hangs_up_while_waiting_has_waited_until_then() -> None:
    assert total(read(tcp(AT, "gateway", "cart", ACK, 100), tcp(AT + 2, "gateway", "cart", FIN | ACK))).waits == pytest.approx(
        [2.0]
    )
    assert total(read(tcp(AT, "gateway", "cart", ACK, 100), tcp(AT + 2, "cart", "gateway", RST))).waits == []


def test_a_request_that_nobody_answers_is_slow_in_every_bucket_that_it_lasts() -> None:
    traffic = read(tcp(NOW - 29.0, "gateway", "cart", ACK, 100))
    waits = {number: tally.waits for number, tally in traffic.flows[CALL].items()}
    assert waits == {0: [], 1: [5.0], 2: [10.0], 3: [15.0], 4: [20.0], 5: pytest.approx([25.0, 29.0])}


def test_a_name_that_is_not_found_is_counted_once_however_often_the_question_is_passed_on() -> None:
    copy: dict[str, Any] = {"udp_srcport": 40_000, "udp_dstport": 53, "dns_id": "0x0007", "dns_qry_name": "nowhere"}
    rows = [
        dns(AT, "cart", "nowhere", 7),
        row(AT + 0.001, "cart", "10.255.255.53", dns_flags_response="0", **copy),
        row(AT + 0.002, "10.255.255.53", "cart", dns_flags_response="1", dns_flags_rcode="3", **copy),
        dns(AT + 0.003, "cart", "nowhere", 7, answer=3),
    ]
    assert read(*rows).names == {("cart", "nowhere", "3"): {4: 1}}


def test_a_question_to_the_name_server_without_an_answer_is_a_failure() -> None:
    assert read(dns(AT, "cart", "redis")).names == {("cart", "redis", "no answer"): {4: 1}}
    assert read(dns(NOW - 0.5, "cart", "redis")).names == {}


def test_streams_of_datagrams_and_other_packets_are_flows_as_well() -> None:
    udp: dict[str, Any] = {"udp_srcport": 40_000, "udp_dstport": 5004}
    traffic = read(row(AT, "cart", "orders", 1400, **udp), row(AT, "cart", "orders", 98))
    assert set(traffic.flows) == {Flow("cart", "orders", 5004, "UDP"), Flow("cart", "orders", 0, "other")}


def test_addresses_of_the_newer_protocol_are_read_too() -> None:
    found = tcp(AT, "", "", SYN, ipv6_src_host="gateway", ipv6_dst_host="cart", tcp_dstport=8000)
    assert list(read(found).flows) == [CALL]


def test_packets_without_an_address_are_no_flows() -> None:
    assert read(row(AT, "", "")).flows == {}


def test_only_what_was_captured_becomes_a_bucket() -> None:
    late = read(tcp(NOW - 63.0, "gateway", "cart", ACK), end=NOW - 1.0)
    assert [b.number for b in late.buckets] == [-7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5]
    assert late.buckets[0].span == Window(NOW - 63.0, NOW - 60.0)
    assert late.buckets[-1].span == Window(NOW - 5.0, NOW - 1.0)
    cut = read(tcp(NOW - 90.0, "gateway", "cart", ACK), tcp(NOW - 12.0, "gateway", "cart", ACK), truncated=True)
    assert max(b.span.end for b in cut.buckets) == NOW - 12.0
    assert cut.truncated


def test_packets_of_another_time_do_not_count() -> None:
    told = read(tcp(1.0, "gateway", "cart", ACK, 9), tcp(NOW + 1e9, "cart", "gateway", ACK, 9))
    assert (told.packets, told.flows) == (0, {})


def test_a_window_of_a_few_seconds_has_two_buckets() -> None:
    short = Scope("shop", Window(NOW - 4.0, NOW), Window(NOW - 8.0, NOW - 4.0))
    assert [b.number for b in read(tcp(NOW - 8.0, "gateway", "cart", ACK), scope=short).buckets] == [-2, -1, 0, 1]


@pytest.mark.parametrize(
    "line",
    [b"", b"not a row", b"\t" * 21, row(AT, "a", "b") + b"\tmore", row(AT, "a", "b").replace(b"66", b"many"), b"\xff\x00" * 50],
)
def test_what_is_not_a_row_is_an_error(line: bytes) -> None:
    with pytest.raises(FormError):
        Reader(SCOPE, NOW).take(line)


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from(["", "1", "-1", "nan", "1e999", "0x10", "a b", "é"]), min_size=22, max_size=22)
)
def test_no_row_does_anything_but_count_or_be_an_error(line: bytes | list[str]) -> None:
    reader = Reader(SCOPE, NOW)
    try:
        reader.take(line if isinstance(line, bytes) else "\t".join(line).encode())
    except FormError:
        return
    reader.traffic(truncated=False)


def test_users_and_unnamed_hosts_are_outside_unless_nobody_has_a_name() -> None:
    named = read(
        tcp(AT, "host", "gateway", SYN, stream=1),
        *handshake(AT),
        tcp(AT, "cart", "10.99.0.9", SYN, stream=2, tcp_srcport=40_002, tcp_dstport=6379),
        dns(AT, "orders", "cart"),
    )
    found = inventory(named)
    assert found.hosts == ("cart", "gateway", "orders")
    assert found.edges == (("cart", "10.99.0.9"), ("gateway", "cart"))
    plain = inventory(read(tcp(AT, "10.0.0.2", "10.0.0.3", SYN)))
    assert (plain.hosts, plain.edges) == (("10.0.0.2", "10.0.0.3"), (("10.0.0.2", "10.0.0.3"),))


def test_every_metric_of_the_catalog_is_measured_as_a_rate_over_what_was_captured() -> None:
    rows = [tcp(NOW - 90.0, "gateway", "cart", ACK), *handshake(NOW - 4.0), tcp(NOW - 3.0, "cart", "gateway", RST)]
    series = {(s.metric, s.entity.name): s for s in series_of(read(*rows), spec("tcpdump").metrics)}
    assert series["tcp_resets", "gateway->cart"].values == (0.0,) * 17 + (0.2,)
    assert {metric for metric, _ in series} == {m.name for m in spec("tcpdump").metrics} - {"tcp_first_byte_p95"}
    assert all(s.times == series["flow_bytes", "cart"].times for s in series.values())


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_table_of_nothing_is_empty(view: str) -> None:
    table = VIEWS[view](read(), ["gateway", "cart"], SCOPE)
    assert (len(table.columns), table.rows) == (len(table.roles), [])


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([]) is None
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile(list(map(float, range(1, 101)))) == 95.0
