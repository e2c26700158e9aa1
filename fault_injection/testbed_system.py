"""A testbed application as a live system of Revelio: the backends on the ports that its stack publishes."""

from __future__ import annotations

from fault_injection.apps import app_named
from revelio.settings import Backend, SystemSettings
from testbed.stack import find_project


def system_of(app: str) -> SystemSettings:
    """How Revelio asks that application. Raises ``FaultError`` when there is no such application."""
    project = app_named(app).project
    ports = find_project(app).ports
    prometheus, jaeger, logs = (f"http://127.0.0.1:{ports[name]}" for name in ("prometheus", "jaeger", "elasticsearch"))
    return SystemSettings(
        project=project,
        window_s=20.0,
        baseline_s=40.0,
        backends={
            "prometheus": Backend(url=prometheus, link=prometheus),
            "jaeger": Backend(url=jaeger, link=jaeger),
            "elasticsearch": Backend(url=logs),
            "tcpdump": Backend(url=f"docker:///{project}-capture"),
            "containers": Backend(url="unix:///var/run/docker.sock"),
            "postgres": Backend(url=f"postgresql://observer:observer@127.0.0.1:{ports['postgres']}/{app}"),
            "redis": Backend(url=f"redis://127.0.0.1:{ports['redis']}/0"),
        },
    )
