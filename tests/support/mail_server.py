"""A real mail server and a real web server on the loopback, which keep what they are sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class Mailbox:
    """What a mail server was sent."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Keep a message."""
        content = cast("bytes", envelope.content)
        self.messages.append(message_from_bytes(content, policy=policy.default))
        return "250 kept"


@contextmanager
def mail_server(port: int = 0) -> Iterator[tuple[Mailbox, int]]:
    """Yield the mailbox and the port of a mail server."""
    mailbox = Mailbox()
    server = Controller(mailbox, hostname="127.0.0.1", port=port or _free_port())
    server.start()
    try:
        yield mailbox, server.port
    finally:
        server.stop()


@contextmanager
def web_server(answer: int = 200) -> Iterator[tuple[list[bytes], int]]:
    """Yield the bodies of the requests to a web server, and its port.

    :param answer: the status of every answer
    """
    bodies: list[bytes] = []

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(answer)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield bodies, server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
