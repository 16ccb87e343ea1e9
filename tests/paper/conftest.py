"""A web server that can be told to misbehave."""

import io
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server(ThreadingHTTPServer):
    """Serves ``content`` at every path; ``behaviour`` is what goes wrong, request by request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = {}
        self.behaviour = []
        self.ranges = []
        self.released = threading.Event()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def handle_error(self, request, client_address):
        """Clients that leave early are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.ranges.append(wanted)
        how = server.behaviour.pop(0) if server.behaviour else "well"
        content = server.content.get(self.path.lstrip("/"))
        if content is None or how == "missing":
            self.send_error(404)
            return
        if how == "busy":
            self.send_error(503)
            return
        if how == "silent":
            server.released.wait(30)
            return
        start = 0
        if wanted and how == "changed" and self.headers.get("If-Range") == '"1"':
            wanted = None
        if wanted and how != "ignores range":
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if how == "refuses range":
                self.send_error(416)
                return
        part = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"2"' if how == "changed" else '"1"')
        if start:
            first = start + 1 if how == "wrong place" else start
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if how == "breaks off":
            part = part[: max(len(part) // 2, 1)]
        if how == "trickles":
            for byte in part[:200]:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.02)
            return
        self.wfile.write(part)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server():
    """Running server on this machine."""
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def zipped():
    """Make a zip archive of some contents by name."""

    def make(**members):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return out.getvalue()

    return make
