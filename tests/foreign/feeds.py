"""A site with feeds, as others run it: ``python feeds.py PORT [DELAY_S]``. It answers that late."""

from __future__ import annotations

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DELAY_S = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
_ITEM = "<item><title>Post {n} of {feed}</title><link>http://127.0.0.1/{feed}/{n}</link><guid>{feed}-{n}</guid><description>{text}</description></item>"


class Handler(BaseHTTPRequestHandler):
    """Twenty posts of whatever feed is asked for, one of them new each minute."""

    def do_GET(self) -> None:
        """A feed."""
        time.sleep(DELAY_S)
        feed, newest = self.path.strip("/") or "all", int(time.time() // 60)
        items = (_ITEM.format(n=n, feed=feed, text=f"About the allotment, {n}. " * 40) for n in range(newest - 20, newest))
        body = f"<rss version='2.0'><channel><title>{feed}</title><link>http://127.0.0.1/</link>{''.join(items)}</channel></rss>"
        self.send_response(200)
        self.send_header("content-type", "application/rss+xml")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """It keeps no log here."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
