"""The index in a real Elasticsearch: the promises of the one in the process, between servers, and without downtime."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from elasticsearch import Elasticsearch

from revelio.encoders.report import Floats
from revelio.errors import SourceError
from revelio.retrieval.elasticsearch_index import ElasticsearchIndex
from revelio.retrieval.index import Item
from revelio.settings.retrieval import RetrievalSettings
from tests.tools.elasticsearch.servers import real_elasticsearch

D = 32
MANY, ASKED = 100_000, 50


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with real_elasticsearch() as (url, _):
        yield url


@pytest.fixture
def settings(url: str) -> RetrievalSettings:
    return RetrievalSettings(engine="elasticsearch", url=url, index=f"t{secrets.token_hex(3)}")


def opened(settings: RetrievalSettings, key: str = "model-1") -> ElasticsearchIndex:
    return ElasticsearchIndex(settings, key, D, 30.0)


@pytest.fixture
def index(settings: RetrievalSettings) -> Iterator[ElasticsearchIndex]:
    index = opened(settings)
    yield index
    index.close()


def unit(*values: float) -> Floats:
    vector = np.zeros(D, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.float32(np.linalg.norm(vector))


ITEMS = (Item("a", unit(1), "shop"), Item("b", unit(1, 0.5), "shop"), Item("c", unit(0, 1), "forum"))


def test_the_nearest_come_first_of_all_groups_of_one_and_of_the_others(index: ElasticsearchIndex) -> None:
    index.add(ITEMS)
    assert [hit.id for hit in index.search(unit(1), 3)] == ["a", "b", "c"]
    assert [hit.id for hit in index.search(unit(0, 1), 3, inside="shop")] == ["b", "a"]
    assert [hit.id for hit in index.search(unit(1), 3, outside="shop")] == ["c"]
    assert index.search(unit(1), 3, inside="travel") == ()
    assert index.search(unit(1), 1)[0].score == pytest.approx(1.0, abs=1e-4)


def test_an_item_is_replaced_by_one_with_its_id_and_can_be_removed(index: ElasticsearchIndex) -> None:
    index.add(ITEMS)
    index.add([Item("a", unit(0, 0, 1), "forum")])
    index.remove(["c", "never there"])
    assert index.ids() == {"a", "b"}
    assert [hit.id for hit in index.search(unit(0, 0, 1), 1, inside="forum")] == ["a"]


def test_servers_share_it_and_models_do_not(index: ElasticsearchIndex, settings: RetrievalSettings) -> None:
    index.add(ITEMS)
    other, newer = opened(settings), opened(settings, "model-2")
    assert other.ids() == {"a", "b", "c"}
    assert newer.ids() == frozenset()
    other.close()
    newer.close()


def test_a_vector_without_direction_is_left_out_and_finds_nothing(index: ElasticsearchIndex) -> None:
    nothing = np.zeros(D, dtype=np.float32)
    index.add([*ITEMS, Item("zero", nothing)])
    assert index.ids() == {"a", "b", "c"}
    assert index.search(nothing, 3) == ()


def test_a_rebuild_serves_the_old_items_until_the_new_ones_are_whole(
    index: ElasticsearchIndex, settings: RetrievalSettings
) -> None:
    index.add(ITEMS)
    going, seen = threading.Event(), []

    def slowly() -> Iterator[Item]:
        yield Item("new", unit(1))
        going.set()
        for _ in range(20):
            seen.append({hit.id for hit in index.search(unit(1), 5)})
            time.sleep(0.01)

    index.rebuild(slowly())
    assert going.is_set() and all(found == {"a", "b", "c"} for found in seen)
    assert [hit.id for hit in index.search(unit(1), 5)] == ["new"]
    client = Elasticsearch(settings.url)
    assert len(client.indices.get(index=f"{settings.index}-*")) == 1  # the old index is gone
    client.close()


def test_a_rebuild_that_fails_leaves_what_was_there(index: ElasticsearchIndex, settings: RetrievalSettings) -> None:
    index.add(ITEMS)

    def breaking() -> Iterator[Item]:
        yield Item("new", unit(1))
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        index.rebuild(breaking())
    assert index.ids() == {"a", "b", "c"}
    client = Elasticsearch(settings.url)
    assert len(client.indices.get(index=f"{settings.index}-*")) == 1
    client.close()


def test_of_many_vectors_the_nearest_are_found(index: ElasticsearchIndex) -> None:
    """Around 5,000 centres, as incidents are: those of one cause are near each other."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(MANY, D)).astype(np.float32) + 2.0 * rng.normal(size=(5_000, D)).astype(np.float32).repeat(
        20, axis=0
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index.rebuild(Item(str(i), vector, f"system-{i % 7}") for i, vector in enumerate(vectors))
    found = 0
    for at in rng.integers(0, MANY, ASKED).tolist():
        exact = set(np.argsort(-(vectors @ vectors[at]))[:10].tolist())
        found += len(exact & {int(hit.id) for hit in index.search(vectors[at], 10)})
    assert found / (10 * ASKED) >= 0.95
    assert {int(hit.id) % 7 for hit in index.search(vectors[0], 10, inside="system-3")} == {3}


def test_a_server_that_is_none_is_told_in_words() -> None:
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:9"):
        opened(RetrievalSettings(engine="elasticsearch", url="http://127.0.0.1:9"))
