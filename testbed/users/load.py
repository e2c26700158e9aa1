"""A steady load of an application's ordinary visitors, by Locust."""

from __future__ import annotations

import gevent.monkey

gevent.monkey.patch_all()

import argparse  # noqa: E402  gevent must come before everything that opens sockets
import signal  # noqa: E402
from importlib import import_module  # noqa: E402

import gevent  # noqa: E402
from locust.env import Environment  # noqa: E402


def main() -> None:
    """``python -m testbed.users.load --app shop --url http://127.0.0.1:18080 --users 8``."""
    parser = argparse.ArgumentParser(description="Ordinary visitors at a steady rate.")
    parser.add_argument("--app", default="shop")
    parser.add_argument("--url", required=True)
    parser.add_argument("--users", type=int, default=8)
    arguments = parser.parse_args()
    visitors = import_module(f"testbed.users.journeys.{arguments.app}").USERS
    environment = Environment(user_classes=visitors, host=arguments.url)
    runner = environment.create_local_runner()
    gevent.signal_handler(signal.SIGTERM, runner.quit)
    gevent.signal_handler(signal.SIGINT, runner.quit)
    runner.start(arguments.users, spawn_rate=4)
    runner.greenlet.join()


if __name__ == "__main__":
    main()
