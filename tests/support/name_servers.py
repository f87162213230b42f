"""Two real name servers on the loopback (Debian: ``bind9``): a primary that takes signed updates, and its secondary."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.tsig
import dns.update

from kafka_dr.clock import SystemClock
from kafka_dr.routing import TsigKey
from kafka_dr.waiting import wait_until
from support.child_server import free_port, running
from support.etcd_server import required

ZONE = "example.test"
KEY = TsigKey("kafka-dr", "b1RoYXQgdGhpcyBpcyBubyByZWFsIHNlY3JldCBvZiBhbnlib2R5")
_KEY_FILE = f'key "{KEY.name}" {{ algorithm {KEY.algorithm}; secret "{KEY.secret}"; }};\n'
_ZONE_FILE = "$TTL 5\n@ SOA ns1 nobody 1 3600 60 86400 5\n@ NS ns1\n@ NS ns2\nns1 A 127.0.0.1\nns2 A 127.0.0.1\n"

#: What a server does that does not run yet.
_STARTING = (OSError, EOFError, dns.exception.Timeout)


@dataclass
class NameServers:
    """Both servers.

    :param folder: of their files
    :param running: the secondary, which a test may end, and start again
    """

    folder: Path
    primary: int
    secondary: int
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def key_file(self) -> Path:
        """The key as ``nsupdate`` takes it."""
        return self.folder / "key"

    def write(self, name: str, kind: str, *texts: str) -> None:
        """Replace records, as an administrator does."""
        update = dns.update.UpdateMessage(ZONE, keyring=dns.tsig.Key(KEY.name, KEY.secret, KEY.algorithm))
        update.replace(f"{name}.", 5, kind, *texts)
        answer = dns.query.tcp(update, "127.0.0.1", port=self.primary, timeout=10)
        assert answer.rcode() == 0, answer

    def start_secondary(self, *, copies: bool = True) -> None:
        """Start the secondary.

        :param copies: whether it gets changes of the zone; one that does not keeps what it has
        """
        nowhere = free_port()
        source = self.primary if copies else nowhere
        self.running.enter_context(
            _named(
                self.folder / "secondary",
                self.secondary,
                f'type secondary; primaries {{ 127.0.0.1 port {source} key "{KEY.name}"; }}; allow-notify {{ any; }};',
            )
        )


@contextmanager
def name_servers(folder: Path) -> Iterator[NameServers]:
    """Run both."""
    servers = NameServers(folder, free_port(), free_port())
    servers.key_file.write_text(_KEY_FILE)
    (folder / "primary").mkdir()
    (folder / "secondary").mkdir()
    (folder / "primary" / "zone").write_text(_ZONE_FILE)
    notified = f"notify explicit; also-notify {{ 127.0.0.1 port {servers.secondary}; }};"
    rights = f'update-policy {{ grant "{KEY.name}" zonesub ANY; }}; allow-transfer {{ key "{KEY.name}"; }};'
    with _named(folder / "primary", servers.primary, f"type primary; {notified} {rights}"), servers.running:
        servers.start_secondary()
        yield servers


@contextmanager
def _named(folder: Path, port: int, zone: str) -> Iterator[subprocess.Popen[bytes]]:
    options = f'directory "{folder}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no;'
    options += " dnssec-validation no; notify-delay 0; notify-rate 1000; pid-file none; session-keyfile none;"
    config = f'options {{ {options} }};\ncontrols {{ }};\n{_KEY_FILE}zone "{ZONE}" {{ {zone} file "zone"; }};\n'
    (folder / "named.conf").write_text(config)
    log = folder.with_suffix(".log")
    with running(required("named", "bind9"), "-f", "-c", str(folder / "named.conf"), log=log) as process:
        wait_until(lambda: _answers(port), bool, clock=SystemClock(), seconds=30, retry=_STARTING)
        yield process


def _answers(port: int) -> bool:
    query = dns.message.make_query(ZONE, "SOA", flags=0)
    answer = dns.query.tcp(query, "127.0.0.1", port=port, timeout=5)
    return bool(answer.answer)
