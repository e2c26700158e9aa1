"""A component is one thing, whatever a label calls it."""

from __future__ import annotations

import re

import pytest

from revelio.catalog.identity import Identity, Naming, naming_of

PODS = [
    ("cart-7d9f8bc6d5-x2k4q", "cart"),
    ("cart-api-7d9f8bc6d5-x2k4q", "cart-api"),
    ("fluent-bit-x2k4q", "fluent-bit"),
    ("postgres-0", "postgres"),
    ("kafka-broker-12", "kafka-broker"),
    ("my-redis", "my-redis"),
    ("cart", "cart"),
]


@pytest.mark.parametrize(("pod", "workload"), PODS)
def test_a_pod_is_named_after_its_workload(pod: str, workload: str) -> None:
    assert Naming("pod", "pod").component(pod) == workload


@pytest.mark.parametrize("title", ["postgres", "postgres: checkpointer ", "postgres: app shop 127.0.0.1(42282) idle"])
def test_a_process_is_named_by_its_program_and_not_by_what_it_does(title: str) -> None:
    naming = Naming("groupname", "process")
    assert naming.component(title) == "postgres"
    assert re.fullmatch(naming.pattern("postgres"), title)
    assert not re.fullmatch(naming.pattern("postgres"), "postgres_exporter")


@pytest.mark.parametrize(
    ("address", "component"),
    [
        ("cart:8080", "cart"),
        ("10.0.3.7:8080", "10.0.3.7"),
        ("cart.shop.svc.cluster.local:8080", "cart"),
        ("cart.shop.svc", "cart"),
        ("api.example.com", "api.example.com"),
        ("[::1]:9100", "[::1]"),
    ],
)
def test_an_address_is_named_without_port_and_cluster_domain(address: str, component: str) -> None:
    assert Naming("instance", "address").component(address) == component


@pytest.mark.parametrize("name", ["shop-cart-1", "shop_cart_1", "shop-cart", "cart"])
def test_a_container_is_named_without_project_and_number(name: str) -> None:
    assert Naming("name", "container", "shop").component(name) == "cart"


@pytest.mark.parametrize(("kind", "value"), [("pod", p) for p, _ in PODS] + [("address", "cart:8080"), ("job", "shop/cart")])
def test_the_pattern_of_a_component_finds_each_of_its_names_and_no_other_components(kind: str, value: str) -> None:
    naming = Naming("label", kind)  # type: ignore[arg-type]
    pattern = naming.pattern(re.escape(naming.component(value)))
    assert re.fullmatch(pattern, value)
    assert not re.fullmatch(pattern, f"{naming.component(value)}-other")


def test_a_rule_is_made_only_where_names_need_one() -> None:
    assert naming_of("job", ["cart", "orders"]) is None
    assert naming_of("service", ["a:80"]) is None
    assert naming_of("job", ["shop/cart", "shop/orders"]) == Naming("job", "job")
    assert naming_of("name", ["shop-cart-1", "shop-orders-1"]) == Naming("name", "container", "shop")
    assert naming_of("name", ["cart-1", "orders-1"]) == Naming("name", "container", "")


def test_servers_that_only_their_port_tells_apart_stay_apart() -> None:
    assert naming_of("instance", ["localhost:9121", "localhost:9122"]) is None
    assert naming_of("instance", ["a:9121", "b:9121"]) == Naming("instance", "address")


def test_the_table_of_overrides_comes_first_and_joins_a_name_with_an_address() -> None:
    identity = Identity((Naming("instance", "address"),), (("10.0.3.7", "cart"), ("basket", "cart")))
    assert identity.component("instance", "10.0.3.7:8080") == "cart"
    assert identity.component("service", "basket") == "cart"
    assert identity.component("service", "orders") == "orders"
    assert identity.others("cart") == ("10.0.3.7", "basket")
