"""Has the kernel count every container's disk traffic, which cAdvisor then reports as container_fs_*.

Under cgroup v1 newer kernels count only once some group has been given a limit on the disk: one group with a limit that no disk
can reach is enough, and may be removed again. Under cgroup v2 they always count. Buffered writes count for the syncing process.
"""

import logging
from pathlib import Path

UNREACHABLE = 1 << 50
"""Bytes a second."""
log = logging.getLogger("disks")


def account(groups: Path = Path("/cgroup/blkio"), blocks: Path = Path("/sys/class/block")) -> list[str]:
    """The disks (major:minor) whose traffic is counted from now on; none where that is not needed or not allowed."""
    if not (groups / "blkio.throttle.read_bps_device").exists():
        return []
    group = groups / "disk-accounting"
    try:
        group.mkdir(exist_ok=True)
        counted = [number for number in whole_disks(blocks) if _limit(group, number)]
        group.rmdir()
    except OSError as error:
        log.warning("the traffic of disks is not counted by container: %s", error)
        return []
    return counted


def whole_disks(blocks: Path) -> list[str]:
    """The numbers of the disks that have a size and are no partitions."""
    disks = [entry for entry in sorted(blocks.iterdir()) if not (entry / "partition").exists()]
    return [(disk / "dev").read_text().strip() for disk in disks if int((disk / "size").read_text())]


def _limit(group: Path, number: str) -> bool:
    try:
        (group / "blkio.throttle.read_bps_device").write_text(f"{number} {UNREACHABLE}")
    except OSError as error:
        log.warning("disk %s is not counted: %s", number, error)
        return False
    return True
