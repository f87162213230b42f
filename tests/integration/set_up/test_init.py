"""``init`` on clusters that are not the lab's: what it writes is used as it is, but for secrets, until all is good."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.errors import TryAgain
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.set_up.seen import look_at
from kafka_dr.topology.loading import load
from kafka_dr.waiting import wait_until
from lab.jvm import Jvm
from support.command_line import Said
from support.foreign_clusters import ADMIN, PASSWORD, ForeignCluster, foreign_clusters, worker_of
from support.kafka_tools import run_as_printed, tools_in
from support.printed_rights import granted_by
from support.secured_connect import Authority
from support.tls_broker import tls_broker

pytestmark = pytest.mark.kafka
_INCLUDE = Path(__file__).resolve().parents[3] / "include"
_OP = AclOperation
_ROLES = {"operator": "svc-dr-op", "probe": "svc-dr-probe", "audit": "svc-dr-audit", "replicator": "svc-dr-copy"}
_PASSWORD = "well kept 3003"


@dataclass(frozen=True, slots=True)
class TwoForeign:
    """The clusters, and a folder that ``init`` writes."""

    berlin: ForeignCluster
    oslo: ForeignCluster
    jvm: Jvm
    folder: Path
    port: int

    def rest(self, cluster: ForeignCluster) -> str:
        """Return where the workers next to a cluster serve."""
        return f"http://127.0.0.1:{self.port + (8 if cluster is self.berlin else 18)}"

    def init(self, *more: str, folder: Path | None = None) -> Said:
        """Run the command with what a person knows."""
        flags = [f"--super-user=User:{ADMIN}", f"--workers-folder={self.folder / 'workers'}"]
        for name, each in (("active", self.berlin), ("standby", self.oslo)):
            flags += [f"--{name}={each.name}={each.address}", f"--rest={each.name}={self.rest(each)}"]
            flags.append(f"--client-config={each.name}={each.folder / 'admin.properties'}")
        flags += [f"--principal={role}=User:{name}" for role, name in _ROLES.items()]
        return run("init", str(folder or self.folder / "dr"), *flags, *more)


def run(*arguments: str) -> Said:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_DR"))}
    done = subprocess.run(
        [sys.executable, "-m", "kafka_dr", *arguments],
        env={**kept, "PYTHONPATH": str(_INCLUDE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def allow(principal: str, operation: AclOperation, resource: ResourceType, name: str, *, prefix: bool = False) -> Acl:
    pattern = PatternType.PREFIXED if prefix else PatternType.LITERAL
    return Acl(resource, name, pattern, f"User:{principal}", operation, AclPermission.ALLOW)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory, port_base: int) -> Iterator[TwoForeign]:
    folder = tmp_path_factory.mktemp("foreign")
    with foreign_clusters(folder, port_base + 300) as (berlin, oslo, jvm):
        for each in (berlin, oslo):
            each.client_file()
        with berlin.reached() as cluster:
            for name in ("invoices.raw", "invoices.paid", "ledger"):
                cluster.topics.create(name, partitions=2, replication_factor=1, config={})
            # The first offset of a cluster waits until the brokers have made the topic for it.
            wait_until(
                lambda: cluster.groups.set_offsets({"mailer": {TopicPartition("invoices.paid", 0): 0}}),
                lambda _: True,
                clock=SystemClock(),
                seconds=90,
                pause_seconds=0.5,
                retry=TryAgain,
            )
            topic, group = ResourceType.TOPIC, ResourceType.GROUP
            cluster.acls.add(
                [
                    *(allow("billing svc", each, topic, "invoices.", prefix=True) for each in (_OP.WRITE, _OP.CREATE)),
                    allow("mail-out", _OP.READ, topic, "invoices.paid"),
                    allow("mail-out", _OP.READ, group, "mailer"),
                    allow("warehouse", _OP.READ, topic, "*"),
                    allow("bookkeeper", _OP.ALL, topic, "ledger"),
                    allow("bookkeeper", _OP.WRITE, ResourceType.TRANSACTIONAL_ID, "book-", prefix=True),
                ]
            )
        yield TwoForeign(berlin, oslo, jvm, folder, port_base + 300)


def test_what_is_written_loads_is_granted_as_printed_and_satisfies_the_doctor(foreign: TwoForeign) -> None:
    said = foreign.init()
    assert said.code == 0, said
    dr = foreign.folder / "dr"
    topology = load(dr / "topology.yaml", {})
    invoices, ledger = topology.group("invoices"), topology.group("ledger")
    assert invoices.topic_prefixes == ("invoices.",)
    assert (invoices.topics, invoices.consumer_groups) == ((), ("mailer",))
    assert set(invoices.principals) == {"User:billing svc", "User:mail-out"}
    assert (ledger.topics, ledger.transactional_id_prefixes) == (("ledger", "ledger.dr-canary"), ("book-",))
    assert ledger.principals == ("User:bookkeeper",)
    assert ledger.readers.principals == invoices.readers.principals == ("User:warehouse",)
    assert {spec.cluster_id for spec in topology.clusters.values()} == {
        foreign.berlin.cluster_id,
        foreign.oslo.cluster_id,
    }
    for private in ("connections.json", "connections.env", "connect/oslo-secrets.properties"):
        assert (dr / private).stat().st_mode & 0o777 == 0o600
    everything = "".join(path.read_text() for path in dr.rglob("*") if path.is_file())
    assert PASSWORD not in everything

    for each in (foreign.berlin, foreign.oslo):
        tools = tools_in(each.folder / "tools")
        run_as_printed(_logins_of(each, (dr / "CHECK-LIST.md").read_text()), tools, each.folder)
        _grant_as_printed(each, (dr / f"rights/kafka-acls/{each.name}.sh").read_text().splitlines(), tools)
    _fill_in(foreign, dr)
    settings = ("--topology", str(dr / "topology.yaml"), "--connections", str(dr / "connections.json"))
    with ExitStack() as stack:
        for each in (foreign.berlin, foreign.oslo):
            properties = dr / "connect" / f"{each.name}.properties"
            stack.enter_context(worker_of(properties, foreign.rest(each), foreign.jvm, each.folder / "worker"))
        doctor = run("doctor", "--json", "--without", "airflow", "--without", "spark", *settings)
        assert doctor.code == 0, doctor
        with _ends_tomorrow(foreign.berlin.authority, dr / "connections.json"):
            doctor = run("doctor", "--json", "--without", "airflow", "--without", "spark", *settings)
    wrong = [each for each in doctor.json["findings"] if each["outcome"] != "ok"]
    assert [(each["about"], each["name"]) for each in wrong] == [("oslo", "certificates")], doctor
    assert "tomorrow.pem ends at" in wrong[0]["detail"]
    assert "in 1 day: replace it" in wrong[0]["detail"]
    again = foreign.init()
    assert again.code == 0, again
    assert {line.split()[0] for line in again.out.splitlines() if str(dr) in line} == {"same", "Read"}


def _logins_of(cluster: ForeignCluster, check_list: str) -> str:
    """Return the commands that make the logins on one cluster, with a password."""
    printed = [line.strip() for line in check_list.splitlines() if line.startswith("    kafka-configs.sh")]
    here = [line for line in printed if f"--bootstrap-server {cluster.address} " in line]
    assert len(here) == len(_ROLES)
    return "\n".join(here).replace("[password=PASSWORD]", f"[password={_PASSWORD}]")


def _grant_as_printed(cluster: ForeignCluster, lines: list[str], tools: Path) -> None:
    """Run the first command for each kind of resource with Kafka's tool, and grant what the others say.

    Kafka's tool starts a JVM for each line.
    """
    commands = [line for line in lines if line.startswith("kafka-acls.sh")]
    kinds = ("--cluster", "--topic", "--group", "--transactional-id")
    first = {kind: command for kind in kinds for command in reversed(commands) if f" {kind}" in command}
    assert len(first) == len(kinds)
    for command in dict.fromkeys(first.values()):
        run_as_printed(command, tools, cluster.folder)
        with cluster.reached() as reached:
            assert granted_by([command]) <= reached.acls.list()
    with cluster.reached() as reached:
        reached.acls.add(granted_by(commands))


@contextmanager
def _ends_tomorrow(authority: Authority, connections: Path) -> Iterator[None]:
    """Let the audit on oslo trust one more certificate, which ends tomorrow."""
    signed = authority.signed("tomorrow", valid=timedelta(days=1, hours=1))
    signed.write_bytes(signed.read_bytes() + authority.ca_file.read_bytes())
    before = connections.read_text()
    stored = json.loads(before)
    stored["kafka_oslo_audit"]["extra"]["ssl.ca.location"] = str(signed)
    connections.write_text(json.dumps(stored))
    yield
    connections.write_text(before)


def _fill_in(foreign: TwoForeign, dr: Path) -> None:
    """Write the secrets into the empty values, and do what the check list says of files for the workers."""
    connections = dr / "connections.json"
    text = connections.read_text().replace('"sasl.password": ""', f'"sasl.password": "{_PASSWORD}"')
    key = json.dumps(SigningKey.generate().private_pem)
    connections.write_text(text.replace('"private_key": ""', f'"private_key": {key}'))
    workers = foreign.folder / "workers"
    workers.mkdir()
    for each in (foreign.berlin, foreign.oslo):
        secrets = (dr / f"connect/{each.name}-secrets.properties").read_text()
        (workers / f"{each.name}-secrets.properties").write_text(
            secrets.replace('password=""', f'password="{_PASSWORD}"')
        )
        (workers / f"{each.name}-ca.pem").write_text(foreign.berlin.authority.ca_file.read_text())


def test_a_file_that_exists_is_shown_and_not_changed_and_the_others_follow_the_topology(
    foreign: TwoForeign, tmp_path: Path
) -> None:
    assert foreign.init(folder=tmp_path).code == 0
    topology = tmp_path / "topology.yaml"
    edited = topology.read_text().replace("mailer", "postman")
    topology.write_text(edited)
    rights = tmp_path / "rights/kafka-acls/oslo.sh"
    before = rights.read_text()
    (tmp_path / "rights/kafka-acls/berlin.sh").unlink()
    said = foreign.init(folder=tmp_path)
    assert said.code == 1, said
    assert (topology.read_text(), rights.read_text()) == (edited, before)
    assert '-    consumer_groups: ["postman"]\n+    consumer_groups: ["mailer"]' in said.out
    assert "postman" in (tmp_path / "rights/kafka-acls/berlin.sh").read_text()
    assert "written" in next(line for line in said.out.splitlines() if "berlin.sh" in line)


def test_a_refused_login_is_named_with_cluster_and_principal_and_nothing_is_written(
    foreign: TwoForeign, tmp_path: Path
) -> None:
    foreign.oslo.client_file(password="another")
    try:
        said = foreign.init(folder=tmp_path / "none")
    finally:
        foreign.oslo.client_file()
    assert said.code == 3, said
    assert "oslo" in said.err
    assert ADMIN in said.err
    assert "refuse" in said.err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--evidence=here"], 4, "evidence.root: "),
        (["--topics=nothing"], 4, "berlin shows no topic of an application"),
        (["--standby=oslo"], 2, "oslo is no answer to --active and --standby: write NAME=VALUE"),
        (["--standby=oslo=oslo"], 2, "oslo=oslo is no cluster: write NAME=HOST:PORT"),
        (["--principal=operator=dr"], 2, "is no principal: write operator=User:NAME"),
        (["--rest=paris=http://x:1"], 2, "is no answer: write one of berlin, oslo"),
        (["--group=a b"], 2, "a b is no name of a protection group"),
    ],
)
def test_a_wrong_answer_gets_one_sentence_and_nothing_is_written(
    foreign: TwoForeign, tmp_path: Path, flags: list[str], code: int, said: str
) -> None:
    found = foreign.init(*flags, folder=tmp_path / "none")
    assert (found.code, found.out) == (code, ""), found
    assert said in found.err
    assert len(found.err.splitlines()) == 1, found
    assert not (tmp_path / "none").exists()


def test_who_may_not_read_the_acls_is_named(foreign: TwoForeign, tmp_path: Path) -> None:
    foreign.berlin.make_logins({"guest": _PASSWORD})
    file = tmp_path / "guest.properties"
    values = foreign.berlin.settings("guest", _PASSWORD).java()
    file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    said = foreign.init(f"--client-config=berlin={file}", folder=tmp_path / "none")
    assert said.code == 3, said
    assert "berlin as guest" in said.err
    assert not (tmp_path / "none").exists()


def test_a_cluster_without_an_authorizer_is_read_and_says_so(tmp_path: Path, port_base: int) -> None:
    with tls_broker(tmp_path, port_base + 340) as broker:
        seen = look_at("berlin", broker.settings("LOGIN"))
    assert "authorizer.class.name is not set on broker 1 of berlin" in seen.without_acls
    assert seen.acls == frozenset()
