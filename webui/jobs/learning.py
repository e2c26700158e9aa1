"""Learns on a schedule: in a process of its own, at low priority, so that no answer waits for it."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

from revelio.errors import RevelioError
from revelio.ranker.versions import LastRun
from revelio.service import Service
from revelio.settings import Settings

log = logging.getLogger(__name__)

_FIRST_S = 60.0
"""How long the server is left alone after its start."""
_LONGEST_S = 3600.0
"""An attempt that takes longer is ended."""
_PRIORITY = 10
_COMMAND = (sys.executable, "-c", "from revelio.cli import main; main()", "learn", "--json")


class LearningJob:
    """A thread that starts ``revelio learn`` when it is due, until it is stopped; none where that is not wanted."""

    def __init__(self, service: Service, *, first_s: float = _FIRST_S, command: tuple[str, ...] = _COMMAND) -> None:
        """``first_s`` seconds after the start at the earliest; ``command`` is what learns."""
        self._service, self._first_s, self._command = service, first_s, command
        self._over = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        wanted = service.settings.learning.every_hours > 0
        self._thread = threading.Thread(target=self._run, name="learning", daemon=True) if wanted else None
        if self._thread is not None:
            self._thread.start()

    def stop(self) -> None:
        """No more after this; an attempt under way is ended, and leaves things as they were."""
        self._over.set()
        child = self._child
        if child is not None and child.poll() is None:
            child.terminate()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        every = self._service.settings.learning.every_hours * 3600.0
        wait = max(self._first_s, self._last_at() + every - time.time())
        while not self._over.wait(wait):
            try:
                self._attempt()
            except (RevelioError, OSError) as error:
                log.warning("learning failed: %s", error)
            wait = every

    def _last_at(self) -> float:
        try:
            last = self._service.model.versions().last_run()
        except RevelioError:
            return 0.0
        return last.at if last else 0.0

    def _attempt(self) -> None:
        words = (*self._command, "--at-least", str(self._service.settings.learning.at_least))
        child = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(self._service.settings, os.environ)
        )
        self._child = child
        os.setpriority(os.PRIO_PROCESS, child.pid, _PRIORITY)
        try:
            out, complaint = child.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            child.kill()
            out, complaint = child.communicate()
            complaint = f"took longer than {_LONGEST_S / 60:.0f} minutes and was ended"
        if self._over.is_set():
            return
        if child.returncode == 0:
            log.info("learning: %s", _outcome(out))
            return
        why = complaint.strip().splitlines()[-1].removeprefix("error: ") if complaint.strip() else f"exit code {child.returncode}"
        log.warning("learning failed: %s", why)
        versions = self._service.model.versions()
        last = versions.last_run()
        until = last.until if last else 0.0
        versions.record_run(LastRun(at=time.time(), base=versions.base.name, until=until, taken=False, outcome=why, failed=True))


def environment(settings: Settings, around: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that give the child process the active settings."""
    return {
        **around,
        "REVELIO_DATABASE": settings.database,
        "REVELIO_MODEL": str(settings.model),
        "REVELIO_CATALOG": json.dumps([str(path) for path in settings.catalog]),
        "REVELIO_MASK": json.dumps(settings.mask),
        "REVELIO_LEARNING": settings.learning.model_dump_json(),
    }


def _outcome(out: str) -> str:
    try:
        return str(json.loads(out)["outcome"])
    except (ValueError, KeyError, TypeError):
        return "done"
