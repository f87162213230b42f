"""Asks clusters, what runs their flows, and the evidence what a set-up needs, before and after groups are adopted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from kafka_dr import parallel
from kafka_dr.causes import cause
from kafka_dr.clusters.model import Acl, AclOperation, PatternType, ResourceType
from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.json_documents import write_whole
from kafka_dr.outcomes import Outcome, worst
from kafka_dr.readiness_checks.rights import without_fences
from kafka_dr.readiness_checks.surroundings import certificates_of
from kafka_dr.replication.flow import Flow
from kafka_dr.rights import NeededRight, needed_on
from kafka_dr.runs.clients import ROLES, Clients, Role, wrong_cluster_id
from kafka_dr.runs.sealing import evidence_can_be_signed
from kafka_dr.topology.model import ProtectionGroup

_OP = AclOperation
#: What somebody who may do ALL needs of it, where single operations were granted instead.
_OF_ALL: dict[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (_OP.READ, _OP.WRITE, _OP.CREATE, _OP.DESCRIBE),
    ResourceType.GROUP: (_OP.READ, _OP.DESCRIBE),
    ResourceType.TRANSACTIONAL_ID: (_OP.WRITE, _OP.DESCRIBE),
}
#: Where a file is written, read and removed, below the evidence root.
_TRIED = ("doctor", "tried")


@dataclass(frozen=True, slots=True)
class SetUpFinding:
    """One thing that was asked.

    :param about: a cluster, or ``evidence``
    :param name: of the question: ``login``, ``right``, ``flow`` …
    :param detail: what was seen and, unless it is good, what to do
    :param missing: the ALLOWs that would correct it
    """

    about: str
    name: str
    outcome: Outcome
    detail: str
    missing: frozenset[Acl] = frozenset()


def examine(clients: Clients) -> tuple[SetUpFinding, ...]:
    """Ask everything, at the same time where nothing depends on it.

    :returns: by cluster, in the order of the topology, then what is asked once
    """
    clusters = dict.fromkeys(name for group in clients.topology.protection_groups.values() for name in group.clusters)
    found = parallel.ask_all(lambda name: tuple(_of_cluster(clients, name)), clusters)
    signed = evidence_can_be_signed(clients)
    signature = SetUpFinding("evidence", "signature", "ok" if signed.passes else "failed", signed.detail)
    return (*chain.from_iterable(found.values()), _evidence(clients), signature)


def _of_cluster(clients: Clients, name: str) -> Iterator[SetUpFinding]:
    logins = _logins(clients, name)
    yield from logins
    yield from _asked(name, "certificates", partial(_certificates, clients, name))
    groups = [group for group in clients.topology.protection_groups.values() if name in group.clusters]
    if logins[0].outcome == "ok":
        yield from _asked(name, "rights", partial(_rights, clients, name, groups))
    for group in groups:
        for source in group.clusters:
            if source != name:
                yield from _asked(name, "flow", partial(_flow, clients, Flow(group.name, source, name)))


def _asked(about: str, name: str, ask: Callable[[], tuple[SetUpFinding, ...]]) -> tuple[SetUpFinding, ...]:
    try:
        return ask()
    except KafkaDrError as error:
        return (_no_answer(about, name, error),)


def _no_answer(about: str, name: str, error: KafkaDrError) -> SetUpFinding:
    return SetUpFinding(about, name, "failed" if isinstance(error, ConnectionMistake) else "unknown", cause(error))


def _logins(clients: Clients, name: str) -> list[SetUpFinding]:
    """Return a finding for each role, the operator's first."""
    answers = parallel.ask_each(lambda role: clients.cluster(name, role).topics.identity(), ROLES)
    return [
        _no_answer(name, "login", answer)
        if isinstance(answer, KafkaDrError)
        else _login(clients, name, role, answer.cluster_id)
        for role, answer in answers.items()
    ]


def _login(clients: Clients, name: str, role: Role, cluster_id: str) -> SetUpFinding:
    if wrong := wrong_cluster_id(clients, name, cluster_id):
        return SetUpFinding(name, "login", "failed", f"{wrong}: correct the connection of {role} or the cluster_id")
    username = clients.cluster(name, role).settings.username
    for group in clients.topology.protection_groups.values():
        declared = getattr(group, f"{role}_principal")
        if username and declared and name in group.clusters and declared != f"User:{username}":
            said = f"the {role} logs in as User:{username}, and {group.name} declares {declared}"
            return SetUpFinding(name, "login", "failed", f"{said}: correct {role}_principal, or the connection")
    return SetUpFinding(name, "login", "ok", f"the {role} can log in")


def _certificates(clients: Clients, name: str) -> tuple[SetUpFinding, ...]:
    found = certificates_of(clients, [name])
    outcome: Outcome = "failed" if found.outcome == "warning" else worst([found])
    return (SetUpFinding(name, "certificates", outcome, found.detail),)


def _rights(clients: Clients, name: str, groups: list[ProtectionGroup]) -> tuple[SetUpFinding, ...]:
    spec = clients.topology.cluster(name)
    if not spec.access_rules.acls_decide:
        return (
            SetUpFinding(name, "rights", "unknown", f"rights are decided by {spec.access_rules.where}: see its rules"),
        )
    found: list[SetUpFinding] = []
    acls = clients.cluster(name, "operator").acls.list()
    for group in groups:
        allowed_to_all = bool(spec.allow_everyone_if_no_acl)
        authorizer = Authorizer(
            without_fences(group, acls), frozenset(group.super_users), allow_if_no_acl=allowed_to_all
        )
        for right in needed_on(name, spec, [group]):
            if missing := _missing(right, authorizer):
                may = " and ".join(sorted(acl.operation for acl in missing))
                where = "the cluster" if right.resource is ResourceType.CLUSTER else f"{right.kind} {right.shown}"
                detail = f"{right.principal} lacks {may} on {where}: needed to {right.reason}"
                found.append(SetUpFinding(name, "right", "failed", detail, missing))
    unique = {(each.detail, each.missing): each for each in found}
    return tuple(unique.values()) or (SetUpFinding(name, "rights", "ok", "every principal has its rights"),)


def _missing(right: NeededRight, authorizer: Authorizer) -> frozenset[Acl]:
    # A literal ACL on the bare prefix is none on the names that begin with it.
    name = f"{right.name}~" if right.pattern is PatternType.PREFIXED else right.name

    def allowed(operation: AclOperation) -> bool:
        asked = _OF_ALL[right.resource] if operation is _OP.ALL else (operation,)
        return all(authorizer.allows(right.principal, each, right.resource, name) for each in asked)

    return frozenset(acl for acl in right.acls if not allowed(acl.operation))


def _flow(clients: Clients, flow: Flow) -> tuple[SetUpFinding, ...]:
    # Which topics match patterns does not matter to whoever runs the flow.
    replicator = clients.replicator(flow, group=clients.topology.group(flow.group).with_matched(()))
    status = replicator.status()
    if refusals := replicator.refusals():
        return tuple(SetUpFinding(flow.target, "flow", "failed", f"{flow} cannot run: {each}") for each in refusals)
    return (
        SetUpFinding(flow.target, "flow", "ok", f"what runs {flow} answers and would run it: it is {status.state}"),
    )


def _evidence(clients: Clients) -> SetUpFinding:
    file, began = clients.evidence_root.joinpath(*_TRIED), clients.clock.monotonic()
    written = clients.executor.name.encode()
    try:
        write_whole(file, written)
        read = file.read_bytes()
        file.unlink()
    except OSError as error:
        said = f"the evidence at {clients.evidence_root} cannot be written and read ({cause(error)})"
        return SetUpFinding("evidence", "storage", "failed", f"{said}: correct evidence.root or its rights")
    seconds = clients.clock.monotonic() - began
    if read != written:
        said = f"the evidence at {clients.evidence_root} gave back something else than was written"
        return SetUpFinding(
            "evidence", "storage", "unknown", f"{said}: see whether another process examined it just now"
        )
    return SetUpFinding("evidence", "storage", "ok", f"a file was written, read and removed in {seconds:.1f} s")
