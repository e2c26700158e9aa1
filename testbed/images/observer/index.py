"""An index of Elasticsearch that keeps its newest documents only."""

import http.client
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

log = logging.getLogger("index")


class Index:
    """One index of Elasticsearch, kept to `most` documents."""

    def __init__(self, url: str, name: str, most: int = 20_000, every: int = 1_000) -> None:
        """Connects to nothing yet. How many there are is looked at once in `every` documents."""
        self.url, self.name, self.most, self.every = url, name, most, every
        self._written = 0

    def open(self, template: str) -> None:
        """Wait for Elasticsearch, then have the index with its mapping."""
        while not self._answers("GET", "/_cluster/health"):
            time.sleep(0.5)
        self.ask("PUT", f"/_index_template/{self.name}", template.replace("{index}", self.name))
        if not self._answers("HEAD", f"/{self.name}"):
            self.ask("PUT", f"/{self.name}")

    def write(self, identity: str, made: Mapping[str, Any]) -> None:
        """Write a document; the same one twice is one. Waits as long as Elasticsearch does not answer."""
        while not self._taken(identity, made):
            time.sleep(1.0)
        self._written += 1
        if self._written % self.every == 0:
            self._forget_oldest()

    def ask(self, method: str, path: str, body: str | None = None) -> Any:
        """One answer as JSON. Raises OSError."""
        kind = {"Content-Type": "application/x-ndjson" if path.endswith("_bulk") else "application/json"}
        request = urllib.request.Request(self.url + path, (body or "").encode() or None, kind, method=method)
        with urllib.request.urlopen(request, timeout=5) as response:
            return json.loads(response.read() or "null")

    def _taken(self, identity: str, made: Mapping[str, Any]) -> bool:
        """Whether Elasticsearch has it, or will never take it."""
        try:
            self.ask("PUT", f"/{self.name}/_doc/{identity}", json.dumps(made))
        except urllib.error.HTTPError as error:
            if error.code == http.client.BAD_REQUEST:
                log.warning("refused: %s: %s", made, error.read(500))
                return True
            return False
        except OSError:
            return False
        return True

    def _answers(self, method: str, path: str, body: str | None = None) -> bool:
        try:
            self.ask(method, path, body)
        except OSError:
            return False
        return True

    def _forget_oldest(self) -> None:
        while (over := self.ask("GET", f"/{self.name}/_count")["count"] - self.most) > 0:
            oldest = {"sort": ["@timestamp"], "_source": False, "size": min(over, 5_000)}
            hits = self.ask("POST", f"/{self.name}/_search", json.dumps(oldest))["hits"]["hits"]
            lines = "".join(json.dumps({"delete": {"_id": hit["_id"]}}) + "\n" for hit in hits)
            self.ask("POST", f"/{self.name}/_bulk?refresh=true", lines)
