"""``revelio doctor`` ends in time, and names what was not reached, however many systems are dead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.hostile.backends import hang, lying_backends, settings_of
from tests.hostile.served import ROOT, free_port
from tests.hostile.tally import Tally

SYSTEMS, DEAD = 15, 10
IN_TIME_S = 20.0


def test_fifteen_systems_some_dead(tally: Tally, tmp_path: Path) -> None:
    silent = {f"silent-{n}": hang for n in range(DEAD)}
    closed = {f"closed-{n}": free_port() for n in range(SYSTEMS - DEAD)}
    with lying_backends(silent) as ports:
        config = tmp_path / "revelio.toml"
        config.write_text(settings_of(ports) + settings_of(closed), encoding="utf-8")
        kept = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")}
        environment = {**kept, "PYTHONPATH": str(ROOT), "REVELIO_CONFIG": str(config)}
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "revelio", "doctor", "--json"],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
        )
        took = time.monotonic() - began
    tally.figures[f"`revelio doctor` with {SYSTEMS} systems of 9 sources, {DEAD} silent and the others closed"] = f"{took:.1f} s"
    findings = json.loads(done.stdout)["findings"]
    named = {f["what"].partition(":")[0] for f in findings if f["state"] != "good"}
    assert set(silent) | set(closed) <= named
    assert "Traceback" not in done.stderr
    assert took < IN_TIME_S
