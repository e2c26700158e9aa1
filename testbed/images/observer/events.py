"""`python -m observer.events`: writes down what happens to the application's containers as ECS documents in Elasticsearch.

The engine itself forgets: it keeps its last 256 events, health checks among them.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .engine import PROJECT, ROLE, Engine, EngineError, found
from .index import Index

TEMPLATE = Path("/etc/observer/events-template.json")
FOLLOWING = Path("/run/following")
"""There once events are followed: what the health check looks at."""
ACTIONS = (
    *("create", "start", "die", "oom", "kill", "restart", "stop", "pause", "unpause", "update", "health_status", "destroy"),
    *("connect", "disconnect"),
)
TYPES = {"create": "creation", "start": "start", "die": "end", "oom": "error", "destroy": "deletion"}
"""ECS's event types; the others are changes."""
REMEMBERED = 600.0
"""Seconds before its start for which the engine is asked."""
log = logging.getLogger("events")


def document(told: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, dict[str, Any]] | None:
    """An engine's event as (document id, ECS document); None unless it is of one of the named containers (name by id)."""
    attributes = told["Actor"].get("Attributes") or {}
    of_network = told["Type"] == "network"
    container = attributes.get("container", "") if of_network else told["Actor"]["ID"]
    if container not in names:
        return None
    action, _, health = told["Action"].partition(": ")
    name, at = names[container], int(told["timeNano"])
    made: dict[str, Any] = {
        "@timestamp": datetime.fromtimestamp(at // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % 10**9 // 10**6:03}Z",
        "event": {"kind": "event", "provider": "docker", "action": action, "type": [TYPES.get(action, "change")]},
        "container": {"id": container, "name": name},
        "service": {"name": name},
    }
    detail = ""
    if health:
        made["container"]["health"] = detail = health
    if "image" in attributes:
        made["container"]["image"] = {"name": attributes["image"]}
    if "exitCode" in attributes:
        made["process"] = {"exit_code": int(attributes["exitCode"])}
        detail = f"exit code {attributes['exitCode']}"
    if "signal" in attributes:
        made["container"]["signal"] = attributes["signal"]
        detail = f"signal {attributes['signal']}"
    if of_network:
        made["network"] = {"name": attributes.get("name", "")}
        detail = made["network"]["name"]
    made["message"] = f"{name}: {action}" + (f" ({detail})" if detail else "")
    return f"{at}-{container[:12]}-{action}", made


def limits(inspected: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that a container has, which no event tells: CPUs, and bytes of memory; none where there is no limit."""
    host = inspected["HostConfig"]
    quota = host["NanoCpus"] / 1e9 or max(host["CpuQuota"], 0) / (host["CpuPeriod"] or 100_000)
    return {**({"cpu": {"limit": quota}} if quota else {}), **({"memory": {"limit": host["Memory"]}} if host["Memory"] else {})}


def follow(engine: Engine, project: str, since: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Documents of all events from then on. Raises EngineError when the engine goes."""
    mine = {"label": [f"{PROJECT}={project}", f"{ROLE}=app"]}
    names: dict[str, str] = {}
    wanted = {"type": ["container", "network"], "event": list(ACTIONS)}
    for told in engine.follow(since, wanted):
        if told["Actor"]["ID"] not in names:
            listed = engine.ask("/containers/json", mine, all="true")
            names.update({container.id: container.name for container in map(found, listed)})
        made = document(told, names)
        if made:
            if told["Action"] in ("start", "update"):
                made[1]["container"].update(limits(engine.ask(f"/containers/{told['Actor']['ID']}/json")))
            yield made


def main() -> None:
    """Write down PROJECT's events into ELASTICSEARCH_URL until ended."""
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
    FOLLOWING.unlink(missing_ok=True)
    project = os.environ["PROJECT"]
    index = Index(os.environ["ELASTICSEARCH_URL"], f"events-{project}")
    index.open(TEMPLATE.read_text())
    since = time.time() - REMEMBERED
    FOLLOWING.touch()
    while True:
        try:
            for identity, made in follow(Engine(), project, since):
                index.write(identity, made)
                since = datetime.fromisoformat(made["@timestamp"]).timestamp()
        except EngineError as error:
            log.warning("the engine is gone: %s", error)
        time.sleep(1.0)


if __name__ == "__main__":
    main()
