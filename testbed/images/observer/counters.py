"""The counters of a network namespace's protocols, as /proc/PID/net tells them."""

from pathlib import Path

TELLING = {
    "Ip": ("OutNoRoutes", "OutDiscards"),
    "Icmp": ("InDestUnreachs",),
    "Udp": ("InErrors", "NoPorts"),
    "Tcp": (
        *("ActiveOpens", "PassiveOpens", "AttemptFails", "EstabResets", "CurrEstab"),
        *("InSegs", "OutSegs", "RetransSegs", "InErrs", "OutRsts"),
    ),
    "TcpExt": (
        *("ListenOverflows", "ListenDrops", "TCPLostRetransmit", "TCPTimeouts", "TCPSynRetrans"),
        *("TCPAbortOnTimeout", "TCPToZeroWindowAdv"),
    ),
}
"""Of the kernel's many counters those that tell of loss, resets, refusals and full queues."""
SOCKETS = {"TCP": ("inuse", "tw"), "UDP": ("inuse",)}
"""What /proc/net/sockstat counts by namespace; the rest it counts for the whole machine."""


def of_process(pid: int) -> dict[str, int]:
    """Counters of the process's network namespace by node_exporter's names. Raises OSError when the process is gone."""
    folder = Path(f"/proc/{pid}/net")
    texts = [(folder / name).read_text() for name in ("snmp", "netstat", "sockstat")]
    return {**netstat(texts[0]), **netstat(texts[1]), **sockstat(texts[2])}


def netstat(text: str) -> dict[str, int]:
    """Of /proc/net/snmp or netstat, which have a line of names and then a line of values for each protocol."""
    lines = text.splitlines()
    found = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        protocol, _, rest = names.partition(":")
        telling = TELLING.get(protocol, ())
        if telling:
            values_of = dict(zip(rest.split(), values.split()[1:], strict=True))
            found.update({f"node_netstat_{protocol}_{name}": int(values_of[name]) for name in telling if name in values_of})
    return found


def sockstat(text: str) -> dict[str, int]:
    """Of /proc/net/sockstat, whose lines hold a protocol, then names and values in turn."""
    found = {}
    for line in text.splitlines():
        protocol, _, rest = line.partition(":")
        words = rest.split()
        values_of = dict(zip(words[::2], words[1::2], strict=True))
        found.update({f"node_sockstat_{protocol}_{name}": int(values_of[name]) for name in SOCKETS.get(protocol, ())})
    return found
