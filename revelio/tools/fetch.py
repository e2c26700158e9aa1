"""One HTTP request for JSON, bounded in time and size whatever the other side does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property

import httpx
from pydantic_core import from_json

from revelio.deadline import end
from revelio.errors import SourceError
from revelio.telemetry import traced
from revelio.tools.base import Limits
from revelio.tools.bounded_body import ACCEPTED, BoundedBody, EncodingError
from revelio.tools.bounded_call import LateError, TooMuchError
from revelio.tools.bounded_transport import BoundedTransport


class TooLargeError(SourceError):
    """The answer was larger than the limit: ask for less."""


class Fetcher:
    """Asks one backend for JSON. Every failure is a ``SourceError`` that says what to do. Safe to share between threads."""

    def __init__(self, source: str, url: str, limits: Limits) -> None:
        """Nothing is connected yet. Proxies and other habits of the environment are ignored: only ``url`` is ever asked."""
        self.source = source
        self.url = url.rstrip("/")
        self.limits = limits

    @cached_property
    def _client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url,
            headers={"Accept-Encoding": ACCEPTED},
            transport=self._transport,
            timeout=self.limits.seconds,
            trust_env=False,
            verify=False,  # the transport's business
            follow_redirects=False,
        )

    @cached_property
    def _transport(self) -> BoundedTransport:
        return BoundedTransport(verify=self.url.startswith("https:"))

    def get(self, path: str, params: Mapping[str, str]) -> object:
        """The JSON that ``GET path?params`` answers."""
        return self._exchange("GET", path, params=params)

    def post(self, path: str, form: Mapping[str, str]) -> object:
        """The JSON that ``path`` answers to a form: for questions longer than an address may be."""
        return self._exchange("POST", path, form=form)

    def close(self) -> None:
        """Close its connections."""
        if "_client" in self.__dict__:
            self._client.close()

    @traced("revelio.request")
    def _exchange(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, form: Mapping[str, str] | None = None
    ) -> object:
        if not self.url:
            raise SourceError(self.source, "no address is set for it; give its backend a url in revelio.toml")
        deadline = end(self.limits.seconds)
        try:
            with self._transport.until(deadline), self._client.stream(method, path, params=params, data=form) as response:
                encoding = response.headers.get("content-encoding")
                with BoundedBody(encoding, self.limits.bytes, self.limits.seconds) as body:
                    for chunk in response.iter_raw():
                        body.feed(chunk)
                        if time.monotonic() > deadline:
                            raise self._late()
                    return self._parsed(response.status_code, body.whole())
        except TooMuchError as error:
            raise TooLargeError(
                self.source, f"answered with more than {self.limits.bytes / 1e6:g} MB; narrow the window or the query"
            ) from error
        except EncodingError as error:
            raise SourceError(self.source, f"{self.url} {error}") from error
        except (httpx.TimeoutException, LateError) as error:
            raise self._late() from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
            why = str(error) or type(error).__name__
            raise SourceError(
                self.source, f"cannot be reached at {self.url}: {why}; is it running, and is its url right?"
            ) from error

    def _late(self) -> SourceError:
        return SourceError(
            self.source,
            f"{self.url} gave no answer within {self.limits.seconds:g} s; is it overloaded, or is timeout_s too small?",
        )

    def _parsed(self, status: int, body: bytes) -> object:
        try:
            parsed: object = from_json(body)
        except ValueError as error:
            raise SourceError(
                self.source, f"{self.url} answered HTTP {status} with something that is not JSON; is this address right?"
            ) from error
        if status >= 400:
            raise SourceError(self.source, f"{self.url} answered HTTP {status}: {_complaint(parsed)}")
        return parsed


def _complaint(parsed: object) -> str:
    """What a JSON error answer says, in the places where Prometheus and Jaeger say it."""
    if isinstance(parsed, dict):
        if isinstance(parsed.get("error"), str):
            return str(parsed["error"])[:500]
        errors = parsed.get("errors")
        if isinstance(errors, list) and errors and isinstance(errors[0], dict):
            return str(errors[0].get("msg", "no reason given"))[:500]
    return "no reason given"
