"""A Connect worker as companies run it: HTTPS by a private authority, a client certificate, and a login."""

from __future__ import annotations

import http.client
import ipaddress
import os
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from kafka_dr.clock import SystemClock
from kafka_dr.errors import KafkaDrError
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.tls_files import TlsFiles
from lab import jars
from lab.api import Lab
from lab.bootstrap import cache_folder
from support.java_processes import java_processes

_SECONDS = 90.0
USER, PASSWORD = "dr-steers-connect", "open sesame 1001"
_KEYSTORE_PASSWORD = "of-no-use-elsewhere"
_KEYSTORE_ENCRYPTION = serialization.BestAvailableEncryption(_KEYSTORE_PASSWORD.encode())
_EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
_LOGIN = (
    'KafkaConnect {{ org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required file="{}"; }};'
)


@dataclass(frozen=True, slots=True)
class Authority:
    """A private authority that signs certificates for 127.0.0.1, each in one PEM file with its key."""

    folder: Path
    key: rsa.RSAPrivateKey
    certificate: x509.Certificate

    @classmethod
    def made(cls, folder: Path, *, valid: timedelta = timedelta(hours=6)) -> Authority:
        """Make one."""
        folder.mkdir()
        key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, folder.name)])
        certificate = _unsigned(name, name, key, valid).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), True
        )
        found = cls(folder, key, certificate.sign(key, hashes.SHA256()))
        found.ca_file.write_bytes(_pem(found.certificate))
        return found

    @property
    def ca_file(self) -> Path:
        """Where its own certificate is."""
        return self.folder / "ca.pem"

    def signed(self, name: str, *, address: str = "127.0.0.1", valid: timedelta = timedelta(hours=6)) -> Path:
        """Return the file of a new key (PKCS#8) and its certificate.

        :param address: the address that it is for
        :param valid: until when, from now; before now if it has expired
        """
        key = rsa.generate_private_key(65537, 2048)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        hosts = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        builder = _unsigned(subject, self.certificate.subject, key, valid).add_extension(hosts, False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self.folder / f"{name}.pem"
        path.write_bytes(private + _pem(builder.sign(self.key, hashes.SHA256())))
        return path

    def keystore(self) -> Path:
        """Return the file of a server's key and certificate, as Connect's REST API takes them."""
        pem = self.signed("server").read_bytes()
        key = serialization.load_pem_private_key(pem, None)
        assert isinstance(key, rsa.RSAPrivateKey)
        certificate = x509.load_pem_x509_certificate(pem)
        stored = pkcs12.serialize_key_and_certificates(b"server", key, certificate, None, _KEYSTORE_ENCRYPTION)
        return _written(self.folder / "server.p12", stored)

    def truststore(self) -> Path:
        """Return the file of this authority alone, for Java."""
        own = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        return _written(self.folder / "trusted.p12", pkcs12.serialize_java_truststore([own], _KEYSTORE_ENCRYPTION))


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, valid: timedelta = timedelta(hours=6)
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(hours=2)).not_valid_after(now + valid)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


@contextmanager
def secured_worker(lab: Lab, authority: Authority, folder: Path, port: int) -> Iterator[HttpEndpoint]:
    """Run a worker of its own on the lab's eastern cluster, and lend what a client needs to reach it."""
    client = authority.signed("client")
    users, login = folder / "users.properties", folder / "login.conf"
    users.write_text(f"{USER}={PASSWORD}\n")
    login.write_text(_LOGIN.format(users))
    cache = cache_folder(os.environ)
    extension = jars.obtain(jars.CONNECT_BASIC_AUTH, cache=cache, environ=os.environ, progress=lambda *_: None)
    own = {
        "group.id": "connect-east-secured",
        "listeners": f"https://127.0.0.1:{port}",
        "rest.advertised.listener": "https",
        "exactly.once.source.support": "disabled",
        "rest.extension.classes": _EXTENSION,
        "listeners.https.ssl.keystore.type": "PKCS12",
        "listeners.https.ssl.keystore.location": authority.keystore(),
        "listeners.https.ssl.keystore.password": _KEYSTORE_PASSWORD,
        "listeners.https.ssl.key.password": _KEYSTORE_PASSWORD,
        "listeners.https.ssl.truststore.type": "PKCS12",
        "listeners.https.ssl.truststore.location": authority.truststore(),
        "listeners.https.ssl.truststore.password": _KEYSTORE_PASSWORD,
        "listeners.https.ssl.client.auth": "required",
        **{f"{each}.storage.topic": f"connect-east-secured-{each}" for each in ("offset", "config", "status")},
    }
    properties = folder / "worker.properties"
    written = (lab.home.connect("east") / "worker.properties").read_text()
    properties.write_text(written + "".join(f"{name}={value}\n" for name, value in own.items()))
    # Java loads a login module only from the class path.
    java_command, *arguments = java_processes().argv(
        "org.apache.kafka.connect.cli.ConnectDistributed", str(properties), heap_megabytes=256, folder=folder
    )
    arguments[arguments.index("-cp") + 1] += f":{extension}/*"
    command = [java_command, f"-Djava.security.auth.login.config={login}", *arguments]
    endpoint = HttpEndpoint(
        f"https://127.0.0.1:{port}", USER, PASSWORD, tls=TlsFiles(str(authority.ca_file), str(client))
    )
    with (folder / "worker.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as worker:
        try:
            _wait_for(endpoint, worker, folder / "worker.log")
            yield endpoint
        finally:
            worker.kill()


def _wait_for(endpoint: HttpEndpoint, worker: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    with ConnectClient(endpoint, clock=SystemClock()) as connect:
        while True:
            with suppress(KafkaDrError):
                connect.connectors()
                return
            if worker.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the worker does not answer: {log.read_text()[-3000:]}")
            time.sleep(0.2)


@contextmanager
def token_proxy(connect_url: str, authority: Authority, token: str) -> Iterator[str]:
    """Run a reverse proxy that lets through only who shows the token, as an ingress does; lend its address."""
    _, _, netloc = connect_url.partition("://")

    class TokenCheck(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers["Authorization"] != f"Bearer {token}":
                self.send_error(401, "Unauthorized")
                return
            upstream = http.client.HTTPConnection(netloc, timeout=_SECONDS)
            upstream.request("GET", self.path)
            reply = upstream.getresponse()
            body = reply.read()
            upstream.close()
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), TokenCheck)
    server.daemon_threads = True
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.signed("proxy"))
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
