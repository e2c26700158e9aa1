"""Which of a process's connections go to other machines."""

from __future__ import annotations

from fault_injection.open_files import established


def test_a_process_connections_are_those_with_other_containers_that_are_not_spared() -> None:
    table = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0500001B:1F40 0300001B:C350 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   2: 0500001B:C351 0200001B:1538 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1
   3: 0500001B:C352 0400001B:10DD 01 00000000:00000000 00:00000000 00000000     0        0 103 1 0 20 4 30 10 -1
   4: 0100007F:1F40 0100007F:C353 01 00000000:00000000 00:00000000 00000000     0        0 104 1 0 20 4 30 10 -1
   5: 0500001B:C354 0200001B:1538 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
"""
    assert established(table, spared=(4317,)) == {"101", "102"}
    assert established(table, spared=()) == {"101", "102", "103"}
