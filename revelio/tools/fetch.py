"""One HTTP request for JSON, bounded in time and size whatever the other side does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from revelio.errors import SourceError
from revelio.errors.redaction import redact
from revelio.settings import Backend
from revelio.support.clock_skew import disagreement
from revelio.support.deadline import end
from revelio.support.telemetry import traced
from revelio.tools.access import Access
from revelio.tools.base import Limits
from revelio.tools.bounded_body import ACCEPTED, BoundedBody, EncodingError
from revelio.tools.bounded_call import LateError, TooMuchError

if TYPE_CHECKING:
    import httpx

    from revelio.tools.bounded_transport import BoundedTransport


class TooLargeError(SourceError):
    """The answer was larger than the limit: ask for less."""


class StatusError(SourceError):
    """The backend answered with an HTTP status of failure."""

    def __init__(self, source: str, status: int, reason: str) -> None:
        self.status = status
        super().__init__(source, reason)


class NoAnswerError(SourceError):
    """The backend did not answer within the limit of time."""


@dataclass(frozen=True, slots=True)
class RawResponse:
    """One answer as it came, whatever its status; the body is decompressed."""

    status: int
    headers: httpx.Headers
    body: bytes


_REDIRECTS = (301, 302, 303, 307, 308)


class Fetcher:
    """Asks one backend for JSON. Every failure is a ``SourceError`` that says what to do. Safe to share between threads."""

    def __init__(self, source: str, backend: Backend, limits: Limits, connect_s: float | None = None) -> None:
        """Nothing is connected yet. Habits of the environment are ignored: only ``backend`` says where and how to ask.

        ``connect_s`` is how long to wait for a connection, where that is less than for an answer.
        """
        self.source = source
        self._connect_s = connect_s
        self.url = backend.url.rstrip("/")
        self.limits = limits
        self._access = Access(source, backend.url, backend)
        self._ahead_s = 0.0

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx  # noqa: PLC0415 -- a tenth of a second that tools which ask nothing need not pay

        return httpx.Client(
            base_url=self.url,
            headers={"Accept-Encoding": ACCEPTED},
            transport=self._transport,
            timeout=httpx.Timeout(self.limits.seconds, connect=self._connect_s or self.limits.seconds),
            trust_env=False,
            verify=False,  # the transport's business
            follow_redirects=False,
        )

    @cached_property
    def _transport(self) -> BoundedTransport:
        from revelio.tools.bounded_transport import BoundedTransport  # noqa: PLC0415 -- it imports httpx

        verify = self._access.context() or True if self.url.startswith("https:") else False
        return BoundedTransport(verify, self._access.settings.proxy)

    def get(self, path: str, params: Mapping[str, str], accept: str = "*/*") -> object:
        """The JSON that ``GET path?params`` answers; ``accept`` asks for a form of it."""
        with self.answered("GET", path, params=params, headers={"Accept": accept}) as answer:
            return self._read(answer)

    def post(self, path: str, form: Mapping[str, str]) -> object:
        """The JSON that ``path`` answers to a form: for questions longer than an address may be."""
        with self.answered("POST", path, form=form) as answer:
            return self._read(answer)

    def send(self, path: str, document: object) -> object:
        """The JSON that ``path`` answers to a JSON document."""
        # What no UTF-8 can say becomes "?", as elsewhere.
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        with self.answered("POST", path, content=content, headers={"Content-Type": "application/json"}) as answer:
            return self._read(answer)

    def text(self, path: str) -> str:
        """The text, not JSON, that ``GET path`` answers."""
        with self.answered("GET", path) as answer:
            return answer.body.decode("utf-8", errors="replace") if answer.status < 300 else str(self._read(answer))

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence where the clock of what answered last disagrees with the one here."""
        told = disagreement(self._ahead_s)
        return (told,) if told else ()

    def prepare(self) -> None:
        """Read the certificates now instead of at the first request; ``SourceError`` when they cannot be read."""
        import httpx  # noqa: PLC0415 -- as its client

        try:
            _ = self._client
        except httpx.InvalidURL as error:
            raise self.unreachable(error) from error

    def close(self) -> None:
        """Close its connections."""
        if "_client" in self.__dict__:
            self._client.close()

    @contextmanager
    def answered(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[RawResponse]:
        """One answer, to be parsed within the block: few large bodies are held at a time.

        Raises ``NoAnswerError``, ``TooLargeError``, or ``SourceError`` for a backend that is not there or a damaged body.
        """
        if not self.url:
            raise SourceError(self.source, "no address is set for it; give its backend a url in revelio.toml")
        import httpx  # noqa: PLC0415 -- as its client

        request = {"params": params, "data": form, "content": content, "headers": {**(headers or {}), **self._access.headers()}}
        with ExitStack() as held:
            try:
                answer = self._received(held, method, path, {k: v for k, v in request.items() if v is not None})
            except TooMuchError as error:
                raise TooLargeError(
                    self.source, f"answered with more than {self.limits.bytes / 1e6:g} MB; narrow the window or the query"
                ) from error
            except EncodingError as error:
                raise SourceError(self.source, f"{self.url} {error}") from error
            except httpx.ConnectTimeout as error:
                if self._connect_s is None:
                    raise self._late() from error
                raise self.unreachable(TimeoutError(f"no connection within {self._connect_s:.1f} s")) from error
            except (httpx.TimeoutException, LateError) as error:
                raise self._late() from error
            except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
                raise self.unreachable(error) from error
            yield answer

    @traced("revelio.request")
    def _received(self, held: ExitStack, method: str, path: str, request: Mapping[str, Any]) -> RawResponse:
        deadline = end(self.limits.seconds)
        with self._transport.until(deadline), self._client.stream(method, path, **request) as response:
            self._compare(response.headers.get("date", ""))
            encoding = response.headers.get("content-encoding")
            body = held.enter_context(BoundedBody(encoding, self.limits.bytes, self.limits.seconds))
            for chunk in response.iter_raw():
                body.feed(chunk)
                if time.monotonic() > deadline:
                    raise LateError
            return RawResponse(response.status_code, response.headers, body.whole())

    def failure(self, status: int, body: object) -> StatusError:
        """The error of an HTTP status; ``body`` is the answer's JSON, or its text."""
        message = body if isinstance(body, str) else _complaint(body)
        quoted = self._clean(message[:500]).strip()
        if status not in _REFUSED:
            return StatusError(self.source, status, f"{self.url} answered HTTP {status}: {quoted or 'no reason given'}")
        advice = self._access.what_is_missing(message) if status == 401 else _REFUSED[status]
        quoted = quoted.partition("\n")[0][:200]
        says = f" (it says: {quoted})" if quoted else ""
        return StatusError(self.source, status, f"{self.url} answered HTTP {status}: {advice}{says}")

    def unreachable(self, error: Exception) -> SourceError:
        """The error of a failure to reach the backend, with what to do about it."""
        why = redact(str(error) or type(error).__name__, self._access.secrets())
        ask = next((ask for part, ask in _TLS.items() if part in why.upper()), "is it running, and is its url right?")
        through = " through its proxy" if self._access.settings.proxy else ""
        return SourceError(self.source, f"cannot be reached at {self.url}{through}: {why}; {ask}")

    def _compare(self, date: str) -> None:
        with suppress(ValueError, OverflowError):  # some servers tell no time, or no zone
            if (told := parsedate_to_datetime(date)).tzinfo is not None:
                self._ahead_s = told.timestamp() - time.time()

    def _late(self) -> NoAnswerError:
        return NoAnswerError(
            self.source,
            f"{self.url} gave no answer within {self.limits.seconds:g} s; is it overloaded, or is timeout_s too small?",
        )

    def parsed(self, answer: RawResponse) -> object:
        """The JSON of an answer, whatever its status; ``SourceError`` where it is none."""
        try:
            return from_json(answer.body)
        except ValueError as error:
            plain = answer.status >= 400 and answer.headers.get("content-type", "").startswith("text/plain")
            if plain or answer.status in _REFUSED:
                raise self.failure(answer.status, answer.body[:500].decode("utf-8", errors="replace")) from error
            raise SourceError(
                self.source,
                f"{self.url} answered HTTP {answer.status} with something that is not JSON; is this address right?",
            ) from error

    def _read(self, answer: RawResponse) -> object:
        parsed = self.parsed(answer)
        if answer.status >= 400 or answer.status in _REFUSED:
            raise self.failure(answer.status, parsed)
        return parsed

    def _clean(self, text: str) -> str:
        return redact(text, self._access.secrets())


_REFUSED = {
    401: "",
    403: "does not let this account read it; give it the right to",
    404: "has nothing at this address; is a part of its path missing in its url, such as /prometheus?",
    407: "its proxy wants a password; put it into proxy, as http://USER:PASSWORD@HOST:PORT",
    429: "refuses more requests for now; ask later, or raise its limit",
    **dict.fromkeys(_REDIRECTS, "sends to another address, which is not followed; is it a sign-in page, or is its url right?"),
}
"""What to do about an answer that refuses to say anything."""

_TLS = {
    "CERTIFICATE_VERIFY_FAILED": "set ca_file of its backend to the authority that signed its certificate",
    "CERTIFICATE_REQUIRED": "it wants a client certificate; set cert_file and key_file of its backend",
    "HANDSHAKE_FAILURE": "it may want a client certificate; set cert_file and key_file of its backend",
    "WRONG_VERSION_NUMBER": "it does not speak TLS; should its url begin with http://?",
}


def _complaint(parsed: object) -> str:
    """What a JSON error answer says, in the places where the backends say it."""
    for key in ("error", "message", "errors"):
        said = parsed.get(key) if isinstance(parsed, dict) else None
        if isinstance(said, list) and said:
            said = said[0]
        if isinstance(said, dict):
            causes = said.get("root_cause")
            first = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else said
            said = first.get("reason") or first.get("msg")
        if isinstance(said, str) and said:
            return said[:500]
    return "no reason given"
