"""A component has one name, whatever its sources call it, and each source is asked by its own."""

from __future__ import annotations

from dataclasses import replace

from revelio.catalog.aliases import also_called, common, join_names, local
from revelio.catalog.presence import absences
from revelio.tools.containers.state import known_as
from revelio.types import (
    Alias,
    Blank,
    Entity,
    Evidence,
    LogPattern,
    Query,
    QueryTemplate,
    Result,
    Series,
    SpanFigures,
    SpanStat,
    Window,
)

BASELINE, WINDOW = Window(0.0, 600.0), Window(600.0, 1200.0)
EMPTY = Evidence(WINDOW, BASELINE)
LISTED = [
    {
        "Id": f"{number}0123456789abcdef",
        "Names": [f"/own-{service}"],
        "Image": f"registry.example.com:5000/own/{image}:1.2",
        "Labels": {"com.docker.compose.service": service},
    }
    for number, (service, image) in enumerate([("driver", "taxi"), ("db", "postgres"), ("archive", "postgres")])
]
ENGINE = replace(EMPTY, entities=(Entity("container", "archive"), Entity("container", "driver")), aliases=known_as(LISTED))
TRACES = replace(
    EMPTY,
    entities=tuple(
        Entity(*e) for e in (("edge", "own-driver->db"), ("operation", "own-driver: GET /"), ("service", "own-driver"))
    ),
    spans=(SpanStat(Entity("operation", "own-driver: GET /"), "own-driver", SpanFigures(3), SpanFigures(3)),),
)
METRICS = replace(
    EMPTY, entities=(Entity("service", "taxi"),), series=(Series(Entity("service", "taxi"), "up", "", (0.0,), (1.0,)),)
)


def template(*blanks: Blank) -> QueryTemplate:
    return QueryTemplate("t.t", "jaeger", "title", "shows", "body", blanks)


def test_names_of_containers_images_and_services_of_traces_are_joined() -> None:
    joined = join_names({"containers": ENGINE, "jaeger": TRACES, "prometheus": METRICS}, "rides")
    assert {e.name for part in joined.parts.values() for e in part.entities} == {
        "driver",
        "archive",
        "driver->db",
        "driver: GET /",
    }
    assert joined.parts["jaeger"].spans[0].service == "driver"
    assert joined.parts["prometheus"].series[0].entity == Entity("service", "driver")


def test_an_image_that_several_containers_run_names_none_of_them() -> None:
    part = replace(EMPTY, entities=(Entity("service", "postgres"),))
    joined = join_names({"containers": ENGINE, "prometheus": part}, "rides")
    assert joined.parts["prometheus"] == part


def test_two_things_of_one_source_stay_apart() -> None:
    both = replace(EMPTY, entities=(Entity("service", "driver"), Entity("service", "own-driver")))
    assert join_names({"containers": ENGINE, "jaeger": both}, "rides").parts["jaeger"] == both


def test_without_a_runtime_the_projects_own_prefix_tells_which_is_which() -> None:
    logs = replace(EMPTY, entities=(Entity("log_source", "driver"), Entity("log_source", "other")))
    parts = join_names({"jaeger": TRACES, "loki": logs}, "own").parts
    assert Entity("service", "driver") in parts["jaeger"].entities
    assert join_names({"jaeger": TRACES, "loki": logs}, "shop").parts["jaeger"] == TRACES


def test_each_source_is_asked_by_the_name_that_it_knows() -> None:
    aliases = join_names({"containers": ENGINE, "jaeger": TRACES}, "rides").aliases
    edge = Query(template(Blank("service", "service"), Blank("peer", "service")), (("peer", "db"), ("service", "driver")))
    assert local(edge, aliases, "jaeger").bindings == (("peer", "db"), ("service", "own-driver"))
    operation = Query(template(Blank("operation", "operation")), (("operation", "driver: GET /"),))
    assert local(operation, aliases, "jaeger").bindings == (("operation", "own-driver: GET /"),)
    container = Query(template(Blank("container", "container")), (("container", "driver"),))
    assert local(container, aliases, "containers") == container


def test_results_come_back_under_the_common_name_and_say_the_others() -> None:
    aliases = join_names({"containers": ENGINE, "prometheus": METRICS}, "rides").aliases
    result = common(Result("", 0.0, "", series=METRICS.series), aliases, "prometheus")
    assert result.series[0].entity.name == "driver"
    query = Query(template(Blank("service", "service")), (("service", "driver"),))
    assert "driver is also called " in also_called(query, replace(EMPTY, aliases=aliases))
    assert "taxi" in also_called(query, replace(EMPTY, aliases=aliases))


def test_a_log_line_that_names_another_name_of_a_host_says_who_is_gone() -> None:
    line = LogPattern(Entity("log_source", "web"), "error", "dial own-driver:80: connection refused", 50, 0, 700.0)
    seen = replace(
        EMPTY,
        entities=(Entity("container", "driver"),),
        logs=(line,),
        aliases=(Alias(Entity("component", "driver"), "own-driver"),),
    )
    assert [a.entity.name for a in absences(seen)] == ["driver"]
