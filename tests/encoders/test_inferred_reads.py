"""What questions of a catalog that says little are taken to read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from revelio.encoders.evidence import Figure
from revelio.encoders.inferred_reads import MAX_READS, infer_reads, resolve_reads
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import CachingEncoder, HashingEncoder
from revelio.types import Blank, Entity, Evidence, Feature, Incident, LogPattern, Query, QueryTemplate, Reading, Window

ERROR_LOGS: Figure = ("logs", "error")
MEMORY: Figure = ("features", "memoryUsage_MB")
RESTARTS: Figure = ("series", "kube_pod_restarts")
FIGURES = (ERROR_LOGS, MEMORY, RESTARTS)
TEXT = HashingEncoder(256)


def function(name: str, title: str = "", kind: str = "service", reads: tuple[Reading, ...] = ()) -> QueryTemplate:
    return QueryTemplate(name, "assistant", title, "", "", (Blank(kind, kind),), reads)


@pytest.mark.parametrize(
    ("name", "figure"),
    [("get_error_logs", ERROR_LOGS), ("getMemoryUsage", MEMORY), ("list_pod_restarts", RESTARTS)],
)
def test_a_function_reads_the_figure_that_is_called_like_it(name: str, figure: Figure) -> None:
    assert infer_reads([function(name)], [FIGURES], TEXT) == {name: (Reading(*figure, "both"),)}


def test_a_question_like_no_figure_reads_none() -> None:
    assert infer_reads([function("whoami")], [FIGURES], TEXT) == {"whoami": ()}
    assert infer_reads([function("get_error_logs")], [()], TEXT) == {}


def test_only_figures_of_the_places_that_it_is_asked_of_are_read() -> None:
    logs, also = function("get_error_logs"), function("get_error_logs_again")
    assert infer_reads([logs, also], [(MEMORY,), FIGURES], TEXT) == {logs.id: (), also.id: (Reading(*ERROR_LOGS, "both"),)}


def test_of_figures_that_are_called_alike_a_few_are_read() -> None:
    alike: tuple[Figure, ...] = tuple(("series", f"memory_usage_{letter}") for letter in "abcdefg")
    assert len(infer_reads([function("memory_usage")], [alike], TEXT)["memory_usage"]) == MAX_READS


def test_what_was_learnt_is_read_also_where_it_is_not_there() -> None:
    logs, memory = function("get_error_logs"), function("getMemoryUsage")
    learned = {logs.id: (Reading(*ERROR_LOGS, "both"),)}
    found = resolve_reads(
        [logs, memory], [(MEMORY, ("logs", "error_free")), (MEMORY,)], TEXT, learned | {"other": (Reading(*MEMORY),)}
    )
    assert found == {logs.id: (Reading(*ERROR_LOGS, "both"),), memory.id: (Reading(*MEMORY, "both"),)}


def test_what_was_learnt_of_other_figures_is_forgotten_where_none_of_them_is() -> None:
    logs = function("get_error_logs")
    assert resolve_reads([logs], [(ERROR_LOGS,)], TEXT, {logs.id: (Reading("features", "errors_logged"),)}) == {
        logs.id: (Reading(*ERROR_LOGS, "both"),)
    }


def seen() -> Evidence:
    cart, web, node = Entity("service", "cart"), Entity("service", "web"), Entity("node", "n1")
    memory = (Feature(cart, "memoryUsage_MB", 900.0, 100.0), Feature(web, "memoryUsage_MB", 100.0, 100.0))
    logs = (LogPattern(web, "ERROR", "failed", 40, 0, 25.0),)
    disk = (Feature(node, "memory_usage_of_all", 5.0, 1.0),)
    return Evidence(Window(20.0, 40.0), Window(0.0, 20.0), (cart, web, node), logs=logs, features=memory + disk)


def test_a_candidate_that_says_nothing_shows_what_one_that_says_it_shows() -> None:
    silent = function("get_memory_usage", "Memory usage of ${service}")
    significant = replace(silent, reads=(Reading("features", "memoryUsage_MB", "both"),))
    encoder = QueryEncoder(CachingEncoder(TEXT), {}, {})
    report = TEXT.encode(["the cart is slow"])[0]

    def features(template: QueryTemplate) -> np.ndarray:
        queries = tuple(Query(template, (("service", name),)) for name in ("cart", "web"))
        encoded = encoder.encode(Incident("i", "theirs", "the cart is slow", 40.0, seen()), queries, report)
        assert encoded.feature("present").all()
        assert encoded.feature("rank").tolist() == [1.0, 0.0]
        return encoded.features

    np.testing.assert_array_equal(features(silent), features(significant))


def test_a_question_about_the_whole_system_reads_it_anywhere() -> None:
    everywhere = QueryTemplate("memory_usage_of_all", "assistant", "", "", "")
    encoder = QueryEncoder(CachingEncoder(TEXT), {}, {})
    encoded = encoder.encode(Incident("i", "theirs", "", 40.0, seen()), (Query(everywhere),), TEXT.encode([""])[0])
    assert encoded.feature("present").tolist() == [1.0]
    assert encoded.feature("worst")[0] > 0.5
