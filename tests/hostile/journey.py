"""``python -m tests.hostile.journey FOLDER``: all that Revelio does in a day, every process of it watched by strace.

It is run in a network namespace of its own, in which a default route leads to nobody. What the processes opened for writing
and whom they spoke to is in ``FOLDER/*.strace``, the ports that the settings name in ``FOLDER/ports.json``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tests.hostile.polite import answer_to

ROOT = Path(__file__).parent.parent.parent
WATCHED = (
    "trace=connect,sendto,sendmsg,sendmmsg,open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink"
)
TOOLS = {"prometheus": "http", "jaeger": "http", "elasticsearch": "http", "containers": "tcp"}


class Polite(BaseHTTPRequestHandler):
    """A backend that tells the truth."""

    def do_GET(self) -> None:
        """Whatever is asked."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps(answer_to(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 -- the library's name

    def log_message(self, *what: object) -> None:
        """Nothing."""


def watched(folder: Path, name: str, *arguments: str) -> list[str]:
    """A command line of Revelio below strace."""
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-s", "300", "-e", WATCHED, "-o", str(folder / f"{name}.strace")]
    return [*strace, sys.executable, "-m", "revelio", *arguments]


def environment(folder: Path) -> dict[str, str]:
    """As on a machine of a person: nothing says that telemetry is unwanted, or that this is a test."""
    mine = ("REVELIO_", "ORT_", "OTEL_", "XDG_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(mine) and k != "CI"}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "REVELIO_CONFIG": str(folder / "revelio.toml"),
    }


def say(folder: Path, name: str, *arguments: str, stdin: str = "") -> None:
    """One verb; raises ``SystemExit`` with what it said where it fails."""
    command = watched(folder, name, *arguments)
    mine = environment(folder)
    done = subprocess.run(command, cwd=folder, env=mine, input=stdin, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode:
        sys.exit(f"revelio {' '.join(arguments)} ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")


def serve_and_ask(folder: Path, port: int) -> None:
    """The server, and a person at it."""
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            watched(folder, "serve", "serve", "--port", str(port)), cwd=folder, env=environment(folder), stdout=log, stderr=log
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120.0, trust_env=False) as client:
            deadline = time.monotonic() + 120.0
            while True:
                try:
                    if client.get("/readyz").status_code == 200:
                        break
                except httpx.HTTPError:
                    pass
                if time.monotonic() > deadline:
                    sys.exit(f"the server does not come up: {(folder / 'server.log').read_text()[-2000:]}")
                time.sleep(0.2)
            for path in ("/", "/systems", "/history", "/model", "/api/v1/systems", "/metrics"):
                client.get(path)
            incident = client.get("/api/v1/incidents").json()[0]["id"]
            for about in ({"incident": incident}, {"system": "ours", "run": True}):
                answer = client.post("/api/v1/recommendations", json={"report": "the cart page hangs", **about})
                answer.raise_for_status()
                shown, query = answer.json()["id"], answer.json()["queries"][0]["id"]
                client.get(f"/r/{shown}")
                client.post(f"/api/v1/recommendations/{shown}/queries/{query}/run")
                verdict = {"verdict": "found", "query_id": query}
                client.post(f"/api/v1/recommendations/{shown}/feedback", json=verdict).raise_for_status()
    finally:
        for child in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGTERM)  # strace itself takes no signal while it writes to a file
        server.wait(60)


def main() -> None:
    """Live the day."""
    folder = Path(sys.argv[1])
    for place in ("home", "tmp"):
        (folder / place).mkdir()
    backends = [ThreadingHTTPServer(("127.0.0.1", 0), Polite) for _ in TOOLS]
    for backend in backends:
        threading.Thread(target=backend.serve_forever, daemon=True).start()
    ports = [backend.server_port for backend in backends]
    told = [f'[systems.ours.backends.{t}]\nurl = "{s}://127.0.0.1:{p}"\n' for (t, s), p in zip(TOOLS.items(), ports, strict=True)]
    (folder / "revelio.toml").write_text("rate_limit = 0\n" + "".join(told))
    (folder / "ports.json").write_text(json.dumps(ports))
    serve_and_ask(folder, 8123)
    say(folder, "doctor", "doctor")
    say(folder, "recommend", "recommend", "the cart page hangs", "--system", "ours", "--run")
    say(folder, "run", "run", "up", "--tool", "prometheus", "--system", "ours")
    say(folder, "learn", "learn", "--dry-run")
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    asked = [("initialize", hello), ("tools/list", {}), ("tools/call", {"name": "list_incidents", "arguments": {}})]
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p}) for n, (m, p) in enumerate(asked)]
    say(folder, "mcp", "mcp", stdin="\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
