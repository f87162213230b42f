"""A vantage elsewhere: a small server that says whether it sees a cluster up, as a test asks it to."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread


@dataclass(slots=True)
class Vantage:
    """What it answers.

    :param says: the body of its answer, as JSON
    :param then: what it answers from the answer after the next one on; ``None`` where that stays as it is
    :param hangs: it takes requests and never answers
    :param wants: the header ``Authorization`` without which it answers 401; it needs none if empty
    :param elsewhere: the address that it sends everybody on to; empty if it answers itself
    """

    address: str = ""
    says: object = field(default_factory=lambda: {"up": False})
    then: object = None
    hangs: bool = False
    wants: str = ""
    elsewhere: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def vantage(certificate: Path | None = None) -> Iterator[Vantage]:
    """Run one on a free port.

    :param certificate: a PEM file with a key and its certificate, for HTTPS
    """
    told, over = Vantage(), Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(self.path)
            while told.hangs and not over.is_set():
                time.sleep(0.05)
            if told.elsewhere:
                self.send_response(302)
                self.send_header("Location", told.elsewhere)
                self.end_headers()
                return
            if told.wants and self.headers["Authorization"] != told.wants:
                self.send_error(401, "Unauthorized")
                return
            body = json.dumps(told.says).encode()
            if told.then is not None:
                told.says, told.then = told.then, None
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    told.address = f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_address[1]}/{{cluster}}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        over.set()
        server.shutdown()
        server.server_close()
