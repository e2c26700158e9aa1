"""The rolling capture: bounded on disk, in a form that readers know, without the backends' own traffic."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from testbed.images.observer.capture import bridge_of, gateways_of, hosts_file, leaving_out
from testbed.images.observer.engine import Container
from testbed.images.observer.names import as_asked
from testbed.images.observer.pcapng import PacketFile, block
from testbed.images.observer.rings import prune


def ring(folder: Path, *sizes: int) -> list[Path]:
    files = []
    for i, size in enumerate(sizes):
        path = folder / f"link-{i}.pcap"
        path.write_bytes(bytes(size))
        os.utime(path, (1000 + i, 1000 + i))
        files.append(path)
    return files


def test_the_oldest_files_go_when_the_ring_is_full(tmp_path: Path) -> None:
    files = ring(tmp_path, 40, 40, 40)
    assert prune(tmp_path, "link-*", most=100) == files[:1]
    assert prune(tmp_path, "link-*", most=100) == []
    assert prune(tmp_path, "link-*", most=100, files=1) == [files[1]]


def test_the_file_that_is_being_written_stays_whatever_its_size(tmp_path: Path) -> None:
    files = ring(tmp_path, 10, 500)
    assert prune(tmp_path, "link-*", most=100) == files[:1]
    assert files[1].exists()


def test_backends_are_left_out_by_address_and_nobody_when_there_is_none() -> None:
    assert leaving_out(["10.0.0.3", "10.0.0.2"]) == "not (ip and host (10.0.0.2 or 10.0.0.3))"
    assert leaving_out([]) == ""


def test_an_address_keeps_its_name_until_another_container_has_it() -> None:
    known: dict[str, str] = {}
    hosts_file([Container("a", "cart", "app", 1, ("10.0.0.2",))], known)
    assert hosts_file([Container("b", "orders", "app", 2, ("10.0.0.3",))], known) == "10.0.0.2 cart\n10.0.0.3 orders\n"
    assert hosts_file([Container("c", "users", "app", 3, ("10.0.0.2",))], known).startswith("10.0.0.2 users\n")


def test_a_networks_bridge_and_the_hosts_address_on_it() -> None:
    network = {"Id": "b48e50c36052ffff", "Options": None, "IPAM": {"Config": [{"Subnet": "10.0.0.0/16", "Gateway": "10.0.0.1"}]}}
    assert bridge_of(network) == "br-b48e50c36052" and gateways_of(network) == ["10.0.0.1"]
    assert bridge_of({**network, "Options": {"com.docker.network.bridge.name": "shop0"}}) == "shop0"


def test_packets_of_two_containers_are_two_interfaces_by_name(tmp_path: Path) -> None:
    file = PacketFile(tmp_path / "names.pcapng")
    for container in ("cart", "orders", "cart"):
        file.write(container, 1_700_000_000_123_456_789, b"\1\2\3\4\5")
    file.close()
    blocks, at, told = [], 0, (tmp_path / "names.pcapng").read_bytes()
    assert len(told) == file.size
    while at < len(told):
        kind, length = struct.unpack_from("<II", told, at)
        assert length % 4 == 0 and struct.unpack_from("<I", told, at + length - 4)[0] == length
        blocks.append((kind, told[at + 8 : at + length - 4]))
        at += length
    assert [kind for kind, _ in blocks] == [0x0A0D0D0A, 1, 6, 1, 6, 6]
    assert b"cart" in blocks[1][1] and b"orders" in blocks[3][1]
    interface, high, low, kept, whole = struct.unpack_from("<5I", blocks[5][1])
    assert (interface, high << 32 | low, kept, whole) == (0, 1_700_000_000_123_456, 5, 5)


def test_a_block_is_padded_to_whole_words() -> None:
    assert block(6, b"abc") == struct.pack("<II", 6, 16) + b"abc\0" + struct.pack("<I", 16)


def packet(source: bytes, target: bytes, source_port: int, target_port: int) -> bytes:
    ip = b"\x45" + bytes(8) + b"\x11" + bytes(2) + source + target
    return bytes(12) + b"\x08\x00" + ip + struct.pack("!HHHH", source_port, target_port, 12, 0) + b"name"


def test_a_question_is_shown_as_it_was_asked_and_an_answer_as_it_came() -> None:
    local, server = bytes((127, 0, 0, 1)), bytes((127, 0, 0, 11))
    assert as_asked(packet(local, server, 40001, 33871)) == packet(local, server, 40001, 53)
    answer = packet(server, local, 53, 40001)
    assert as_asked(answer) == answer
