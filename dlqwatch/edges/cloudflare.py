"""Cloudflare's API, as far as watching a queue needs it. Reads only; needs Queues Read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from dlqwatch.decide.plain import plain
from dlqwatch.decide.reading import (
    QueueSettings,
    TokenInfo,
    nearest_names,
    read_metrics,
    read_queue,
    read_token,
)
from dlqwatch.decide.refusals import open_envelope
from dlqwatch.decide.retry_after import parse_http_date
from dlqwatch.edges.http import Http, HttpFailure
from dlqwatch.errors import CloudflareError, ConfigError, DlqwatchError, QueueNotListed
from dlqwatch.model import Clock, Sample, SampleReason

PER_PAGE = 100
MOST_PAGES = 600  # an account has 10,000 queues at most, and 20 a page is the least seen

_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_TOKEN = re.compile(r"[!-~]+")  # what a header can carry: visible ASCII without spaces

_UNANSWERED = {
    "unreachable": (
        SampleReason.UNREACHABLE,
        "Asked again at the next poll. If it stays: check this host's DNS, proxy and firewall.",
    ),
    "timeout": (
        SampleReason.TIMEOUT,
        "Asked again at the next poll. If it stays: check the network, or raise "
        "cloudflare.timeout.",
    ),
    "too_large": (
        SampleReason.TOO_LARGE,
        "No answer of Cloudflare's is that large: check cloudflare.api_base_url.",
    ),
}
_UNUSABLE = "the Cloudflare API token is empty or holds characters no token has"
_UNUSABLE_DO = "Set cloudflare.api_token (or its file) to the token alone, on one line."


class Cloudflare:
    """One account's queues. Safe to share between threads.

    `token`: the token, or what reads it anew at each call. `timeout_s` bounds each request as a
    whole. `http` is shared, not closed, when it is passed in. Every method raises
    CloudflareError, with a reason of the closed set, where Cloudflare gave no usable answer.
    """

    def __init__(
        self,
        *,
        base_url: str,
        account_id: str,
        token: str | Callable[[], str],
        timeout_s: float,
        clock: Clock,
        http: Http | None = None,
    ) -> None:
        if isinstance(token, str) and not _TOKEN.fullmatch(token):
            raise ConfigError(_UNUSABLE, _UNUSABLE_DO)
        self._base = base_url.rstrip("/")
        self._account = f"/accounts/{quote(account_id, safe='')}"
        self._token = token
        self._timeout_s = timeout_s
        self._clock = clock
        self._http = Http() if http is None else http
        self._owns_http = http is None
        self.date_seen: tuple[int, int] | None = None
        """The `Date` of Cloudflare's last answer and our clock when it came, both in ms."""

    def find_queue(self, name: str) -> str:
        """The id of the queue with exactly this name, from every page of the list.

        Raises QueueNotListed (with the nearest names) only after the list was read whole.
        """
        # whether ?name= filters is not documented: it may shorten the way, it never decides
        found, _ = self._page(name, {"page": "1", "per_page": str(PER_PAGE), "name": name})
        if name in found:
            return found[name]
        seen: dict[str, str] = {}
        for page in range(1, MOST_PAGES + 1):
            found, info = self._page(name, {"page": str(page), "per_page": str(PER_PAGE)})
            if name in found:
                return found[name]
            new = found.keys() - seen.keys()
            seen.update(found)
            pages, total = _count(info, "total_pages"), _count(info, "total_count")
            last = page >= pages if pages is not None else total is not None
            if not new:  # an end, or a page that repeats
                last = last or pages is None or total is not None
            if last and (total is None or len(seen) >= total):
                raise QueueNotListed(name, nearest_names(name, seen), len(seen))
            if not new:
                break
        raise CloudflareError(
            SampleReason.NONSENSE,
            f"listing the queues: the pages end or repeat after {len(seen)} queues, "
            "before the number that Cloudflare announced",
            "Asked again at the next poll; until then nothing is said about the queue.",
        )

    def _page(
        self, wanted: str, params: Mapping[str, str]
    ) -> tuple[dict[str, str], Mapping[str, object]]:
        """Ids by name on one page, and its `result_info`."""
        doing = "listing the queues"
        envelope = self._get(f"{self._account}/queues", doing, params)
        result, info = envelope.get("result"), envelope.get("result_info")
        found: dict[str, str] = {}
        entries = result if isinstance(result, list) else [None]
        for entry in entries:
            fields = entry if isinstance(entry, dict) else {}
            name, queue_id = fields.get("queue_name"), fields.get("queue_id")
            if isinstance(name, str) and isinstance(queue_id, str) and _ID.fullmatch(queue_id):
                found[name] = queue_id
        if len(found) < len(entries) and wanted not in found:
            # an entry that can't be read may be the one that is looked for
            raise CloudflareError(
                SampleReason.NONSENSE,
                f"{doing}: the answer isn't a list of queues, each with a name and an id",
                "Asked again at the next poll; until then nothing is said about the queue.",
            )
        return found, info if isinstance(info, dict) else {}

    def metrics(self, queue_id: str) -> Sample:
        """How much lies in the queue, how old: a complete, partial or nonsensical sample."""
        envelope = self._get(f"{self._queue(queue_id)}/metrics", "reading the depth")
        return read_metrics(envelope.get("result"), self._clock.now())

    def queue(self, queue_id: str) -> QueueSettings:
        """Retention, consumers, producers; what Cloudflare leaves out is None."""
        doing = "reading the queue's settings"
        return read_queue(self._get(self._queue(queue_id), doing).get("result"))

    def verify_token(self) -> TokenInfo:
        """Whether the token is active, and when it expires. Needs no permission.

        A token owned by the account (prefix `cfat_`) is unknown to the user's address, and older
        ones carry no prefix: a user's address that refuses is no proof.
        """
        doing = "verifying the token"
        account = f"{self._account}/tokens/verify"
        if self._read_token().startswith("cfat_"):
            return read_token(self._get(account, doing).get("result"))
        try:
            return read_token(self._get("/user/tokens/verify", doing).get("result"))
        except CloudflareError as refused:
            if refused.reason is not SampleReason.BAD_TOKEN:
                raise
            try:
                return read_token(self._get(account, doing).get("result"))
            except CloudflareError as again:
                if again.reason in (SampleReason.BAD_TOKEN, SampleReason.BAD_ACCOUNT):
                    raise refused from None
                raise

    def close(self) -> None:
        """Closes the connections, unless `http` was passed in."""
        if self._owns_http:
            self._http.close()

    def _queue(self, queue_id: str) -> str:
        return f"{self._account}/queues/{quote(queue_id, safe='')}"

    def _read_token(self) -> str:
        try:
            token = self._token if isinstance(self._token, str) else self._token()
        except DlqwatchError as error:
            what = f"the Cloudflare API token can't be read: {error.what}"
            raise CloudflareError(SampleReason.BAD_TOKEN, what, error.do) from None
        except OSError as error:
            what = f"the Cloudflare API token can't be read: {error}"
            do = "Check the secret's file and who may read it."
            raise CloudflareError(SampleReason.BAD_TOKEN, what, do) from None
        if not _TOKEN.fullmatch(token):
            raise CloudflareError(SampleReason.BAD_TOKEN, _UNUSABLE, _UNUSABLE_DO)
        return token

    def _get(
        self, path: str, doing: str, params: Mapping[str, str] | None = None
    ) -> Mapping[str, object]:
        return self._ask("GET", path, doing, params=params)

    def post(self, path: str, doing: str, sent: Mapping[str, object]) -> Mapping[str, object]:
        """The envelope of a POST of JSON to an address of this account."""
        content = json.dumps(sent).encode()
        return self._ask("POST", f"{self._account}{path}", doing, content=content)

    def _ask(
        self,
        method: str,
        path: str,
        doing: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Mapping[str, object]:
        """The envelope of an answer. The token is the only secret, and only the header has it."""
        token = self._read_token()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            answer = self._http.request(
                method,
                f"{self._base}{path}",
                timeout_s=self._timeout_s,
                headers=headers,
                params=params,
                content=content,
            )
        except HttpFailure as failure:
            reason, do = _UNANSWERED[failure.kind]
            raise CloudflareError(reason, f"{doing}: {plain(failure.detail)}", do) from None
        now = self._clock.now()
        date = parse_http_date(answer.headers.get("date"))
        if date is not None:
            self.date_seen = (date, now)
        return open_envelope(
            answer.status, answer.headers, answer.body, doing=doing, now=now, secret=token
        )


def _count(info: Mapping[str, object], key: str) -> int | None:
    """A number of `result_info` that can be believed."""
    value = info.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value <= 10**6 else None
