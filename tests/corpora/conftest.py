"""A small HTTP server on this machine that misbehaves in every way a mirror can."""

import hashlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Mirror:
    """Serves `files[path]` under the behaviour that `behaviours[path]` names.

    Behaviours, applied while `left[path]` is above 0 (then the file is served well): truncate,
    stall, trickle, an HTTP status such as 404 or 500, html, wrong, no_range, shifted_range.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.behaviours: dict[str, str] = {}
        self.left: Counter[str] = Counter()
        self.requests: list[tuple[str, str | None]] = []
        self.released = threading.Event()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                mirror.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def add(self, path: str, data: bytes, behaviour: str = "", *, times: int = 1 << 30) -> str:
        self.files[path], self.behaviours[path], self.left[path] = data, behaviour, times
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{path}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.lstrip("/")
        wanted = handler.headers.get("Range")
        self.requests.append((path, wanted))
        behaviour = self.behaviours.get(path, "404")
        if behaviour and self.left[path] <= 0:
            behaviour = ""
        self.left[path] -= 1
        data = self.files.get(path, b"")
        if behaviour.isdigit():
            handler.send_error(int(behaviour))
            return
        if behaviour == "html":
            data = b"<!DOCTYPE html>\n<html><body>This site has moved.</body></html>"
        if behaviour == "wrong":
            data = data[::-1]
        self._send(handler, data, wanted, behaviour)

    def _send(
        self, handler: BaseHTTPRequestHandler, data: bytes, wanted: str | None, behaviour: str
    ) -> None:
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        condition = handler.headers.get("If-Range")
        if behaviour == "no_range" or (condition and condition != etag):
            start = 0
        if start >= len(data) > 0:
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(data)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        if start:
            shown = start - 1 if behaviour == "shifted_range" else start
            end = len(data) - 1
            handler.send_header("Content-Range", f"bytes {shown}-{end}/{len(data)}")
        handler.send_header("ETag", etag)
        handler.send_header("Content-Length", str(len(data) - start))
        handler.end_headers()
        body = data[start:]
        if behaviour in ("truncate", "stall"):
            if behaviour == "truncate" or not start:
                handler.wfile.write(body[: len(body) // 2])
            handler.wfile.flush()
            if behaviour == "stall":
                self.released.wait(20)
            handler.close_connection = True
            return
        handler.wfile.write(body)


@pytest.fixture
def mirror():
    server = Mirror()
    yield server
    server.close()
