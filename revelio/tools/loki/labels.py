"""What one Loki knows of a system: the labels that name components, projects and levels, found out from what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from revelio.catalog.identity import Naming, naming_of
from revelio.settings.profile import ProfileSettings
from revelio.tools.loki.strings import regex, text

COMPONENT = (
    "service_name",
    "service",
    "app",
    "app_kubernetes_io_name",
    "k8s_deployment_name",
    "deployment",
    "workload",
    "component",
    "compose_service",
    "com_docker_compose_service",
    "container",
    "container_name",
    "k8s_container_name",
    "job",
    "unit",
    "pod",
    "k8s_pod_name",
    "filename",
)
"""Labels that name components, the best first."""

PROJECT = (
    "namespace",
    "k8s_namespace_name",
    "service_namespace",
    "compose_project",
    "com_docker_compose_project",
    "project",
    "stack",
)
LEVEL = ("detected_level", "level", "severity", "severity_text", "log_level")
TRACE = ("trace_id", "traceid", "traceID", "TraceId")
_NO_NAME = "unknown_service"

Values = Callable[[str, str], Sequence[str]]
"""The values of a label on the streams of a selector; of all streams where that is empty."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one system in one Loki.

    ``selector`` are matchers that keep other systems out; ``level`` and ``trace`` are "" where lines carry no such label.
    ``letters`` says that some lines begin with the letter of their level, as klog writes them, which Loki does not detect.
    """

    component: str = "service_name"
    names: tuple[str, ...] = ()
    naming: Naming | None = None
    selector: str = ""
    level: str = ""
    trace: str = ""
    known: frozenset[str] = frozenset()
    letters: bool = False

    def source(self, labels: Mapping[str, str]) -> str:
        """The component that a stream is of."""
        value = labels.get(self.component, "")
        return self.naming.component(value) if self.naming else value

    def matcher(self, component: str) -> str:
        """The matcher of one component's streams."""
        if self.naming is None:
            return f"{self.component}={text(component)}"
        return f"{self.component}=~{text(self.naming.pattern(regex(component)))}"

    @property
    def any(self) -> str:
        """The matchers of every stream of the system."""
        named = f'{self.component}=~".+"'
        return f"{self.selector}, {named}" if self.selector else named


def find_labels(
    names: Sequence[str], values: Values, on_lines: frozenset[str], project: str, settings: ProfileSettings
) -> Labels:
    """The labels of a system. ``names`` are indexed labels, ``on_lines`` those that single lines carry."""
    there = frozenset(names)
    selector = settings.selector or next((f"{p}={text(project)}" for p in PROJECT if p in there and project in values(p, "")), "")
    component, found = "", tuple[str, ...]()
    for name in (settings.component,) if settings.component else (n for n in COMPONENT if n in there):
        held = tuple(v for v in values(name, selector) if v)
        if held not in ((), (_NO_NAME,)):
            component, found = name, held
            break
    naming = naming_of(component, found)
    called = tuple(sorted({naming.component(v) if naming else v for v in found}))
    every = there | on_lines
    level, trace = (next((n for n in known if n in every), "") for known in (LEVEL, TRACE))
    return Labels(component or settings.component or "service_name", called, naming, selector, level, trace, every)
