"""What discovery makes of a Prometheus: conventions, labels, cadence; and what it says where something is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from revelio.catalog.conventions import Profile, Use, conventions
from revelio.catalog.conventions.rendering import asked, expression
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.settings.profile import ProfileSettings
from revelio.tools.discovery.prometheus import discover
from revelio.tools.discovery.store import Profiles
from tests.tools.discovery.fake_prometheus import FakePrometheus, Labels

NOW = 1_700_000_000.0


def metrics(convention: str) -> list[str]:
    """Everything that a convention reads."""
    return sorted(conventions()[convention].metrics)


def holding(**series: Sequence[Labels]) -> FakePrometheus:
    """A Prometheus with all metrics of some conventions, each with the same series; ``_`` stands for ``-``."""
    return FakePrometheus({m: rows for name, rows in series.items() for m in metrics(name.replace("_", "-"))})


def found(ask: FakePrometheus, project: str = "mine", settings: ProfileSettings | None = None) -> Profile:
    return discover(ask, settings or ProfileSettings(), project, NOW)


def use(profile: Profile, convention: str) -> Use:
    return next(u for u in profile.uses if u.convention == convention)


def written(profile: Profile, signal: str, name: str) -> str:
    """The query of a signal for one entity."""
    question = asked(f"signal: {signal}\nof: ${{service}}\n")
    assert question is not None
    return expression(profile, question, {"service": name}).text


def test_a_few_requests_find_conventions_labels_and_cadence() -> None:
    ask = holding(
        redis_exporter=[{"job": "redis", "instance": "a:9121"}],
        micrometer=[{"application": "cart", "job": "spring", "instance": "b:8080"}],
        scrape=[{"job": j} for j in ("redis", "spring")],
    )
    profile = found(ask)
    labels = {u.convention: u.label for u in profile.uses}
    assert (labels["micrometer"], labels["redis-exporter"], labels["scrape"]) == ("application", "job", "job")
    assert len(ask.asked) <= 12
    assert (profile.cadence.scrape_s, profile.rate_interval_s()) == (15, 60)
    assert (profile.cadence.window_s, profile.cadence.baseline_s) == (600, 3600)
    assert "cpu_throttled" in dict(profile.missing)
    assert "cAdvisor" in dict(profile.missing)["cpu_throttled"]


def test_the_testbed_is_discovered_as_what_it_is() -> None:
    services = [{"project": "shop", "service": s, "job": "app", "instance": f"{s}:8000"} for s in ("cart", "orders")]
    containers = [{"project": "shop", "container": s, "job": "cadvisor", "instance": "c:8080"} for s in ("cart", "orders")]
    jobs = [{"project": "shop", "job": "links"}, {"project": "shop", "job": "postgres"}]
    ask = holding(opentelemetry_http=services, cadvisor=containers, testbed=services, scrape=[*services, *jobs])
    ask.scrape = "2s"
    profile = found(ask, "shop")
    assert {u.label for u in profile.uses if u.convention in ("opentelemetry-http", "testbed")} == {"service"}
    assert use(profile, "cadvisor").label == "container"
    assert use(profile, "scrape").label == "service", "up is of services, and of the jobs that have none"
    of_messages = {u.convention for u, _ in profile.rules["handling_failures"]}
    assert of_messages == {"testbed"}, "the testbed counts failures by another label than OpenTelemetry"
    assert all(u.where == 'project="shop"' for u in profile.uses)
    assert (profile.rate_interval_s(2.0), profile.cadence.window_s, profile.cadence.baseline_s) == (10, 20, 40)
    assert written(profile, "request_rate", "cart").startswith("sum(rate(http_server_request_duration_seconds_count{project=")


def test_two_systems_of_one_prometheus_are_kept_apart_by_the_projects_name() -> None:
    both = [{"namespace": n, "job": f"{n}-web", "instance": f"{n}:80"} for n in ("shop", "billing")]
    host = [{"instance": "n1:9100", "job": "node"}]
    profile = found(holding(http_histogram=both, node_exporter=host), "shop")
    assert use(profile, "http-histogram").where == 'namespace="shop"'
    assert use(profile, "node-exporter").where == "", "hosts carry no namespace"
    assert profile.notes == ()


def test_what_carries_no_name_of_a_system_is_said_to_be_of_any() -> None:
    both = [{"namespace": n, "job": f"{n}-web", "instance": f"{n}:80"} for n in ("shop", "billing")]
    caches = [{"job": "redis", "instance": "r:9121"}]
    [note] = found(holding(http_histogram=both, redis_exporter=caches), "shop").notes
    assert "redis_exporter" in note and "carry no namespace, so those of billing may be among them" in note
    assert found(holding(http_histogram=both[:1], redis_exporter=caches), "shop").notes == (), "there is no other system"


def test_two_systems_and_no_name_are_said() -> None:
    both = [{"namespace": n, "job": f"{n}-web", "instance": f"{n}:80"} for n in ("shop", "billing")]
    profile = found(holding(http_histogram=both), "mine")
    assert "several systems share this Prometheus: namespace is billing, shop; set project" in profile.notes[0]


def test_where_half_of_the_series_lack_a_label_the_next_one_names_them_or_it_is_said() -> None:
    half = [{"service": "cart", "job": "a", "instance": "1"}, {"job": "b", "instance": "2"}]
    uses = [(u.label, u.only) for u in found(holding(http_histogram=half)).uses if u.convention == "http-histogram"]
    assert uses == [("service", ""), ("job", 'service=""')]
    rows = [{"queue": "mail"}, {"queue": ""}]
    profile = found(holding(rabbitmq=rows))
    assert use(profile, "rabbitmq").label == "queue"
    assert "the label queue is missing on 50% of the series; those are left out" in profile.notes[0]


def test_several_servers_of_one_job_are_told_apart_by_their_address() -> None:
    rows = [{"job": "redis", "instance": i} for i in ("a:9121", "b:9121")]
    profile = found(holding(redis_exporter=rows))
    assert use(profile, "redis-exporter").label == "instance"
    assert profile.identity.component("instance", "a:9121") == "a"


def test_pods_are_read_as_their_workload_without_the_sums_of_pods() -> None:
    pods = [{"pod": f"cart-7d9f8bc6d5-{end}", "namespace": "shop", "container": "cart"} for end in ("x2k4q", "b5v7z")]
    profile = found(holding(cadvisor=pods), "shop")
    text = written(profile, "cpu", "cart")
    assert 'namespace="shop",container!="",container!="POD",pod=~"${service}' in text
    assert profile.identity.component("pod", pods[0]["pod"]) == "cart"
    assert 'container!=""' not in written(profile, "network_in", "cart"), "a pod's network is no container's"


def test_the_process_of_an_exporter_is_no_component() -> None:
    ask = holding(
        process=[{"job": j, "instance": j} for j in ("redis", "cart")], redis_exporter=[{"job": "redis", "instance": "r"}]
    )
    assert use(found(ask), "process").only == 'job!~"redis"'


def test_signals_that_exporters_alone_tell_of_themselves_are_missing_for_that_reason() -> None:
    exporter = {"job": "redis-exporter", "instance": "a"}
    profile = found(holding(redis_exporter=[exporter], go_runtime=[exporter]))
    assert dict(profile.missing)["runtime_threads"].startswith("only exporters tell it, of themselves")


def test_names_that_series_carry_beside_each_other_are_of_one_component() -> None:
    compose = "container_label_com_docker_compose_service"
    containers = [{compose: "driver", "name": "own-driver"}, {compose: "db", "name": "own-db"}, {compose: "cart", "name": "kart"}]
    spans = [{"service": "own-driver"}, {"service": "kart"}]
    profile = found(holding(cadvisor=containers, opentelemetry_http=spans))
    assert profile.identity.component("service", "kart") == "cart"
    assert {("own-driver", "driver"), ("kart", "cart")} <= set(profile.identity.also)


def test_what_watches_the_system_is_no_part_of_it() -> None:
    jobs = [{"job": j, "instance": j} for j in ("cart", "prometheus", "node")]
    ask = holding(go_runtime=jobs)
    ask.series = {
        **ask.series,
        "prometheus_build_info": [jobs[1]],
        "node_exporter_build_info": [jobs[2]],
        "cart_build_info": [jobs[0]],
    }
    assert use(found(ask), "go-runtime").only == 'job!~"node|prometheus"'
    assert found(ask).monitors == ("prometheus",), "what an exporter says of another program is evidence"


def test_counters_that_their_names_do_not_tell_are_known_by_their_type() -> None:
    ask = holding(nginx_exporter=[{"job": "nginx", "instance": "n"}])
    ask.types = {"nginx_connections_accepted": ["counter"], "nginx_connections_active": ["gauge"]}
    assert found(ask).counters == {"nginx_connections_accepted"}


def test_a_metric_of_two_types_is_said() -> None:
    ask = holding(http_histogram=[{"job": "a", "instance": "a"}])
    ask.types = {"http_request_duration_seconds": ["histogram", "gauge"], "other": ["counter", "gauge"]}
    assert found(ask).notes == (
        "http_request_duration_seconds is of several types (gauge, histogram): its figures are right for one of them only",
    )


@pytest.mark.parametrize(
    ("ahead", "told"), [(95.0, "its clock is 95 s ahead of"), (-400.0, "its clock is 400 s behind"), (3.0, "")]
)
def test_a_clock_that_disagrees_is_said(ahead: float, told: str) -> None:
    ask = holding(scrape=[{"job": "a"}])
    ask.clock = NOW + ahead
    assert [note.partition(" the one here")[0] for note in found(ask).notes] == ([told] if told else [])


def test_every_exporter_that_would_measure_something_is_named() -> None:
    missing = dict(found(holding(scrape=[{"job": "a"}])).missing)
    assert "memcached_exporter" in missing["cache_up"]
    assert "redis_exporter" in missing["cache_up"]


def test_a_million_series_cost_no_more_requests() -> None:
    pods = [{"pod": f"app{n}-7d9f8bc6d5-x2k4q", "namespace": "shop", "container": "c"} for n in range(2000)]
    ask = holding(cadvisor=pods, kube_pods=pods)
    ask.refused = {"/api/v1/label/__name__/values"}  # more names than an answer may hold
    profile = found(ask, "shop")
    assert {u.convention for u in profile.uses} >= {"cadvisor", "kube-pods"}
    assert len(ask.asked) <= 12


def test_a_backend_that_gives_no_configuration_is_measured() -> None:
    ask = holding(scrape=[{"job": "a"}])
    ask.refused = {"/api/v1/status/config", "/api/v1/metadata"}
    assert found(ask).cadence.scrape_s == 30


def test_what_settings_say_is_not_found_out() -> None:
    rows = [{"app": "cart", "team": "x", "job": "web", "instance": "1"}]
    settings = ProfileSettings(scrape_interval_s=60, component="team", selector='team="x"', conventions=["http-histogram"])
    profile = found(holding(http_histogram=rows, scrape=rows), settings=settings)
    assert [(u.convention, u.label, u.where) for u in profile.uses] == [("http-histogram", "team", 'team="x"')]
    assert profile.rate_interval_s() == 240
    with pytest.raises(SourceError, match="no convention 'smoke'"):
        found(holding(scrape=rows), settings=ProfileSettings(conventions=["smoke"]))


class Foreign(FakePrometheus):
    """Another product at the same address."""

    def get(self, path: str, params: object) -> object:
        return {"name": "elastic", "version": {"number": "8.17"}}


def test_another_product_is_told() -> None:
    with pytest.raises(SourceError, match="names of its metrics; is its url right"):
        found(Foreign({}))


def test_a_profile_is_kept_on_disk_and_outlives_a_silent_backend(tmp_path: Path) -> None:
    backend = Backend(url="http://p", profile=ProfileSettings(folder=tmp_path))
    ask = holding(http_histogram=[{"job": "a", "instance": "a"}])
    made = Profiles(backend).current("shop", ask)
    later = Profiles(backend)
    assert later.known("shop") == made
    assert later.current("shop", Foreign({})) == made, "it is not old"
    assert Profiles(Backend(url="http://other", profile=ProfileSettings(folder=tmp_path))).known("shop") is None
    [file] = tmp_path.iterdir()
    file.write_text("{", encoding="utf-8")
    assert Profiles(backend).known("shop") is None


def test_what_the_testbed_alone_writes_is_not_looked_for_elsewhere() -> None:
    profile = found(holding(opentelemetry_messaging=[{"service_name": "mail"}]))
    assert {u.convention for u, _ in profile.rules["handling_failures"]} == {"opentelemetry-messaging"}
