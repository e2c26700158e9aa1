"""``python -m tests.foreign install|record|relabel|table``: foreign applications, brought up, broken and measured."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from tests.foreign import campaign
from tests.foreign.applications import APPLICATIONS
from tests.foreign.machine import Machine, not_possible, on_a_machine_of_its_own
from tests.foreign.programs import Programs

FOLDER = Path("data/foreign")


def main() -> int:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(prog="python -m tests.foreign", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    install = verbs.add_parser("install", help="what is no Debian package, and the command for those that are")
    install.add_argument("app", nargs="*", choices=[*APPLICATIONS, []], default=list(APPLICATIONS))
    record = verbs.add_parser("record", help="record incidents; goes on where it was ended")
    record.add_argument("app", choices=list(APPLICATIONS))
    record.add_argument("--part", default="1/1", help="of so many machines side by side")
    record.add_argument("--most", type=int, help="no more faults than these; 0 looks at it in health")
    record.add_argument("--faults", nargs="*", metavar="NAME", help="these faults alone, by their names")
    record.add_argument("--quick", action="store_true", help="short times, for a look")
    record.add_argument("--folder", type=Path, default=FOLDER)
    record.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    for verb, told in (("relabel", "judge what is recorded by the causes as they are now"), ("table", "print what came of it")):
        added = verbs.add_parser(verb, help=told)
        added.add_argument("--folder", type=Path, default=FOLDER)
    added.add_argument("--write", type=Path, metavar="PAGE", help="put the table between its marks in this page")
    words = parser.parse_args()
    return {"install": _install, "record": _record, "relabel": _relabel, "table": _table}[words.verb](words)


def _relabel(words: argparse.Namespace) -> int:
    for app in APPLICATIONS.values():
        campaign.relabel(app, words.folder)
    return 0


def _table(words: argparse.Namespace) -> int:
    from tests.foreign.table import put_into, table

    told = table(words.folder, {name: app.title for name, app in APPLICATIONS.items()})
    if words.write:
        put_into(words.write, told)
    else:
        print(told)
    return 0


def _install(words: argparse.Namespace) -> int:
    packages = sorted({p for name in words.app for p in APPLICATIONS[name].packages})
    print(f"apt-get install --no-install-recommends {' '.join(packages)}")
    for name in words.app:
        APPLICATIONS[name].install()
        print(f"{name}: {APPLICATIONS[name].lacking() or 'installed'}")
    return 0


def _record(words: argparse.Namespace) -> int:
    app = APPLICATIONS[words.app]
    lacking = app.lacking() or not_possible()
    if lacking:
        print(f"{app.name}: {lacking}", file=sys.stderr)
        return 2
    if not words.here:
        again = [sys.executable, "-m", "tests.foreign", *sys.argv[1:], "--here"]
        again = on_a_machine_of_its_own(again)
        os.execvp(again[0], again)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    part, parts = map(int, words.part.split("/"))
    with tempfile.TemporaryDirectory(prefix=f"{app.name}-", dir="/var/tmp", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        machine = Machine(Programs(Path(name)))
        times = campaign.QUICK if words.quick else campaign.WHOLE
        try:
            campaign.run(app, machine, words.folder, times, campaign.steps(app, part, parts, words.most, words.faults))
        finally:
            machine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
