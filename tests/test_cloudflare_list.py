"""A queue is found by its exact name on every page, and only a whole list says that it is gone."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import respx

from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import SampleReason
from tests.cloudflare_answers import (
    QUEUES,
    TOKEN,
    cloudflare_with,
    refusal,
    success,
)


@pytest.fixture(scope="module")
def http() -> Iterator[Http]:
    http = Http()
    yield http
    http.close()


@pytest.fixture
def cloudflare(http: Http) -> Cloudflare:
    return cloudflare_with(http, TOKEN)


@pytest.fixture
def api() -> Iterator[respx.MockRouter]:
    with respx.mock(assert_all_called=True) as router:
        yield router


def entries(*names: str) -> list[dict[str, str]]:
    return [{"queue_name": name, "queue_id": f"id-{name}"} for name in names]


class Account:
    """A list endpoint: pages of `per_page`, `?name=` ignored unless `filters`."""

    def __init__(self, names: list[str], per_page: int, filters: bool = False) -> None:
        self.names, self.per_page, self.filters = names, per_page, filters
        self.info: dict[str, object] = {}  # overrides of result_info
        self.ignores_page = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        asked = request.url.params
        names = [n for n in self.names if not self.filters or n == asked.get("name", n)]
        page = 1 if self.ignores_page else int(asked["page"])
        shown = names[(page - 1) * self.per_page : page * self.per_page]
        info = {
            "page": page,
            "per_page": self.per_page,
            "count": len(shown),
            "total_count": len(names),
            "total_pages": -(-len(names) // self.per_page),
            **self.info,
        }
        return success(entries(*shown), result_info={k: v for k, v in info.items() if v is not ...})


NAMES = [f"queue-{n:02}" for n in range(45)]


@pytest.mark.parametrize("filters", [True, False])
@pytest.mark.parametrize("wanted", ["queue-00", "queue-19", "queue-20", "queue-44"])
def test_a_queue_on_any_page_is_found(
    api: respx.MockRouter, cloudflare: Cloudflare, wanted: str, filters: bool
) -> None:
    api.get(QUEUES).mock(side_effect=Account(NAMES, 20, filters))
    assert cloudflare.find_queue(wanted) == f"id-{wanted}"


def test_a_filter_that_works_costs_one_call(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    route = api.get(QUEUES).mock(side_effect=Account(NAMES, 20, filters=True))
    cloudflare.find_queue("queue-44")
    assert route.call_count == 1
    assert dict(route.calls.last.request.url.params) == {
        "page": "1",
        "per_page": "100",
        "name": "queue-44",
    }


@pytest.mark.parametrize("filters", [True, False])
def test_only_the_exact_name_is_a_match(
    api: respx.MockRouter, cloudflare: Cloudflare, filters: bool
) -> None:
    api.get(QUEUES).mock(side_effect=Account(["a-dlq-old", "A-DLQ", "a-dlq"], 20, filters))
    assert cloudflare.find_queue("a-dlq") == "id-a-dlq"


@pytest.mark.parametrize("filters", [True, False])
def test_a_misspelt_name_is_told_with_the_nearest_after_the_whole_list(
    api: respx.MockRouter, cloudflare: Cloudflare, filters: bool
) -> None:
    names = [*NAMES, "nemo12-events", "nemo12-events-dlq"]
    api.get(QUEUES).mock(side_effect=Account(names, 20, filters))
    with pytest.raises(QueueNotListed) as caught:
        cloudflare.find_queue("nemo12-event-dlq")
    assert caught.value.nearest[0] == "nemo12-events-dlq"
    assert "47 queues listed" in str(caught.value)
    assert "(1 queue listed)" in str(QueueNotListed("x", (), 1))


def test_an_account_without_queues_has_none(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    api.get(QUEUES).mock(side_effect=Account([], 20))
    with pytest.raises(QueueNotListed):
        cloudflare.find_queue("a-dlq")


@pytest.mark.parametrize(
    "info",
    [
        {"total_pages": ..., "total_count": ...},
        {"total_pages": ...},
        {"total_count": ...},
        {"total_pages": "3", "total_count": None},
        {"total_pages": -1, "total_count": 0},
        {"total_pages": True, "total_count": 1e30},
        {"total_pages": 3.0, "total_count": 45.0},
        {"total_pages": 999},
    ],
    ids=str,
)
def test_odd_page_numbers_neither_hide_a_queue_nor_stop_the_reading(
    api: respx.MockRouter, cloudflare: Cloudflare, info: dict[str, object]
) -> None:
    account = Account(NAMES, 20)
    account.info = info
    route = api.get(QUEUES).mock(side_effect=account)
    assert cloudflare.find_queue("queue-44") == "id-queue-44"
    with pytest.raises(QueueNotListed):
        cloudflare.find_queue("queue-45")
    assert route.call_count <= 4 + 5


@pytest.mark.parametrize(
    "info",
    [
        {"total_count": 60, "total_pages": 3},
        {"total_count": 60, "total_pages": ...},
        {"total_count": ..., "total_pages": 7},
    ],
    ids=str,
)
def test_a_list_that_ends_early_is_not_fully_read(
    api: respx.MockRouter, cloudflare: Cloudflare, info: dict[str, object]
) -> None:
    """Only a fully read list may say that a queue is gone: it closes an incident as lost."""
    account = Account(NAMES, 20)
    account.info = info
    route = api.get(QUEUES).mock(side_effect=account)
    with pytest.raises(CloudflareError) as caught:
        cloudflare.find_queue("queue-45")
    assert caught.value.reason is SampleReason.NONSENSE
    assert route.call_count <= 6


def test_a_page_that_repeats_ends_the_reading(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    account = Account(NAMES, 20)
    account.ignores_page = True
    route = api.get(QUEUES).mock(side_effect=account)
    with pytest.raises(CloudflareError) as caught:
        cloudflare.find_queue("queue-44")
    assert caught.value.reason is SampleReason.NONSENSE
    assert route.call_count == 3


def test_a_list_that_comes_whole_and_without_page_numbers_is_read(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    account = Account(NAMES, 1000)
    account.ignores_page = True
    account.info = {"total_pages": ..., "total_count": ...}
    api.get(QUEUES).mock(side_effect=account)
    assert cloudflare.find_queue("queue-44") == "id-queue-44"
    with pytest.raises(QueueNotListed):
        cloudflare.find_queue("queue-45")


def test_a_list_that_never_ends_is_given_up(http: Http, cloudflare: Cloudflare) -> None:
    def endless(request: httpx.Request) -> httpx.Response:
        page = request.url.params["page"]
        return success(entries(f"q-{page}"), result_info={"total_pages": 10**6})

    with respx.mock:
        route = respx.get(QUEUES).mock(side_effect=endless)
        with pytest.raises(CloudflareError) as caught:
            cloudflare.find_queue("a-dlq")
    assert caught.value.reason is SampleReason.NONSENSE
    assert route.call_count == 601


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        "x",
        [None],
        [{"queue_name": "a-dlq"}],
        [{"queue_name": "a-dlq", "queue_id": 7}],
        [{"queue_name": "a-dlq", "queue_id": "../../user"}],
        [{"queue_name": None, "queue_id": "x"}],
    ],
    ids=str,
)
def test_a_list_that_cannot_be_read_is_nonsense_not_a_missing_queue(
    api: respx.MockRouter, cloudflare: Cloudflare, result: object
) -> None:
    api.get(QUEUES).mock(return_value=success(result))
    with pytest.raises(CloudflareError) as caught:
        cloudflare.find_queue("a-dlq")
    assert caught.value.reason is SampleReason.NONSENSE


def test_an_odd_entry_beside_ours_does_not_hide_ours(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    api.get(QUEUES).mock(return_value=success([None, *entries("a-dlq")]))
    assert cloudflare.find_queue("a-dlq") == "id-a-dlq"


def test_a_refused_list_is_no_missing_queue(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    api.get(QUEUES).mock(return_value=refusal(403, 10000))
    with pytest.raises(CloudflareError) as caught:
        cloudflare.find_queue("a-dlq")
    assert caught.value.reason is SampleReason.BAD_TOKEN
