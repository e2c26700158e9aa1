"""A small application as its author might instrument it with the Prometheus client library; it knows nothing of Revelio."""

from __future__ import annotations

import random
import sys
import threading
import time

from prometheus_client import Histogram, start_http_server

REQUESTS = Histogram("http_request_duration_seconds", "Time of requests", ["method", "path", "status"])


def visit() -> None:
    """Users who come all the time."""
    while True:
        path = random.choice(["/", "/cart", "/checkout"])
        status = "500" if random.random() < 0.02 else "200"
        REQUESTS.labels("GET", path, status).observe(random.expovariate(50.0))
        time.sleep(0.05)


if __name__ == "__main__":
    threading.Thread(target=visit, daemon=True).start()
    start_http_server(int(sys.argv[1]), "127.0.0.1")
    threading.Event().wait()
