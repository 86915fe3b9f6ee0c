"""The page that a browser opens: it offers a call, is answered, and then tells what it sees of it."""

from __future__ import annotations

import json
import queue
import secrets
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import msgspec

from paceline.browser.seen import Looks

LARGEST = 1 << 20
"""Bytes that a page may send at a time."""
MOST_ROWS = 200_000
"""Looks at the browser that are kept: eleven hours of five a second, 34 MB."""
MOST_PAGES = 16
"""Connections at a time; a page has one or two."""
ANSWER_S = 30.0
"""How long a page waits for an answer."""
READ_S = 1.0
"""How long a page may take to be told one."""


class PageServer:
    """Serves one call's page on 127.0.0.1, under an address that nobody guesses."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        page = files("paceline.browser").joinpath("page.html").read_text("utf-8")
        self.page = page.replace("/*SETTINGS*/{}", json.dumps(dict(settings)))
        self.token = secrets.token_urlsafe(16)
        self.offers: queue.Queue[str] = queue.Queue(maxsize=1)
        """The offer, as SDP."""
        self._answers: queue.Queue[tuple[int, str]] = queue.Queue(maxsize=1)
        self._answered = False
        self.rows = Looks()
        """The looks of the page at the browser."""
        self.failure: str | None = None
        """The error that the page tells."""
        self._told = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self._server.server_port}/{self.token}/"

    def __enter__(self) -> PageServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._answered:
            self._told.wait(READ_S)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, status: int, text: str) -> None:
        """Answers the page that offered."""
        self._answered = True
        self._answers.put((status, text))

    def told(self) -> None:
        """A page has what it was answered."""
        if self._answered:
            self._told.set()

    def offered(self, text: str) -> tuple[int, str]:
        """The answer to an offer; a page offers once."""
        try:
            self.offers.put_nowait(text)
            return self._answers.get(timeout=ANSWER_S)
        except queue.Full:
            return 409, "the call is with another page"
        except queue.Empty:
            return 503, "nobody answered"

    def looked(self, text: str) -> tuple[int, str]:
        """Keeps what the page saw."""
        try:
            look = msgspec.json.decode(text, type=_Look)
        except (msgspec.MsgspecError, RecursionError):
            return 400, "found something else than figures"
        if len(self.rows) >= MOST_ROWS or len(look.figures) > 1000:
            return 400, "found an amount that no call has"
        self.rows.add(look.time, look.figures)
        return 200, ""


class _Look(msgspec.Struct):
    """A look, as a page tells it."""

    time: float
    figures: dict[str, float | str | bool | None]


class _Server(ThreadingHTTPServer):
    """A server that says nothing of pages that hang up, and hears only so many at a time."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._free = threading.BoundedSemaphore(MOST_PAGES)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _handler(server: PageServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 60

        def do_GET(self) -> None:
            if self.path == f"/{server.token}/":
                self._reply(200, server.page, "text/html; charset=utf-8")
            else:
                self._reply(404, "no such page")

        def do_POST(self) -> None:
            kinds = {"offer": server.offered, "stats": server.looked, "failure": self._failed}
            token, _, kind = self.path.strip("/").partition("/")
            length = self.headers.get("Content-Length", "")
            if token != server.token or kind not in kinds:
                return self._reply(404, "no such page")
            if not length.isdecimal() or int(length) > LARGEST:
                return self._reply(413, f"found {length or 'no'} bytes, expected {LARGEST} at most")
            self._reply(*kinds[kind](self.rfile.read(int(length)).decode("utf-8", "replace")))
            if kind == "offer":
                server.told()

        def _failed(self, text: str) -> tuple[int, str]:
            server.failure = server.failure or text[:500]
            return 200, ""

        def _reply(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Says nothing: the page's requests are no news."""

    return Handler
