"""What a set-up needs of one cluster: addresses, clock, logins, certificates, rights, and what runs its flows."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from kafka_dr import parallel
from kafka_dr.causes import cause
from kafka_dr.checks import positions_topic, register_checks
from kafka_dr.clusters.errors import NotFound
from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.clusters.tool_access import ADMIN_FILE, ToolAccess
from kafka_dr.doctor.finding import SetUpFinding, asked, no_answer, of_check
from kafka_dr.doctor.flow_workers import examine_workers
from kafka_dr.durations import about
from kafka_dr.errors import ConnectionMistake, KafkaDrError
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.fencing.register_writers import Intruder, guarded, intruders
from kafka_dr.locked_file import LockedFile
from kafka_dr.outcomes import Check
from kafka_dr.readiness_checks.certificates import another_principal, certificates_of, principals_of
from kafka_dr.readiness_checks.rights import without_fences
from kafka_dr.replication.flow import Flow
from kafka_dr.rights import NeededRight, needed_on
from kafka_dr.runs.clients import ROLES, Clients, Role, wrong_cluster_id
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.cluster import ClusterSpec
from kafka_dr.topology.model import ProtectionGroup

_OP = AclOperation
#: What somebody who may do ALL needs of it, where single operations were granted instead.
_OF_ALL: dict[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (_OP.READ, _OP.WRITE, _OP.CREATE, _OP.DESCRIBE),
    ResourceType.GROUP: (_OP.READ, _OP.DESCRIBE),
    ResourceType.TRANSACTIONAL_ID: (_OP.WRITE, _OP.DESCRIBE),
}
#: From this on canaries, audits and approvals would be judged by a wrong age; they are accepted up to a minute.
_CLOCKS_APART = timedelta(seconds=5)


def examine_cluster(clients: Clients, name: str) -> Iterator[SetUpFinding]:
    """Ask a cluster everything; what needs the operator's login is asked only if that works."""
    logins = _logins(clients, name)
    yield from logins
    yield from asked(name, "certificates", _certificates, clients, name)
    groups = [group for group in clients.topology.protection_groups.values() if name in group.clusters]
    if logins[0].outcome == "ok":
        for question, ask in (("addresses", _addresses), ("clock", _clock), ("principals", _principals)):
            yield from asked(name, question, ask, clients, name)
        yield from asked(name, "rights", _rights, clients, name, groups)
        yield from asked(name, "access_rules", _access_rules, clients, name, groups)
        yield from asked(name, "register", _register, clients, name, groups)
        yield from asked(name, "workers", _workers, clients, name, groups)
    for group in groups:
        for source in group.clusters:
            if source != name and group.owns_flows_from(source):
                yield from asked(name, "flow", _flow, clients, Flow(group.name, source, name))


def _tool(clients: Clients, name: str, tool: str) -> str:
    return ToolAccess(name, clients.topology.cluster(name).route_bootstrap_servers, ADMIN_FILE).tool(tool)


def _logins(clients: Clients, name: str) -> list[SetUpFinding]:
    """Return a finding for each role, the operator's first."""
    answers = parallel.ask_each(lambda role: clients.cluster(name, role).topics.identity(), ROLES)
    return [
        no_answer(name, "login", answer, *_new_password(clients, name, role, answer))
        if isinstance(answer, KafkaDrError)
        else _login(clients, name, role, answer.cluster_id)
        for role, answer in answers.items()
    ]


def _new_password(clients: Clients, name: str, role: Role, error: KafkaDrError) -> Iterator[str]:
    """Yield the command that gives the user of a connection a password, where brokers keep the passwords."""
    if isinstance(error, ConnectionMistake):
        settings = clients.cluster(name, role).settings
        if (settings.sasl_mechanism or "").startswith("SCRAM"):
            user, tool = shlex.quote(settings.username or ""), _tool(clients, name, "kafka-configs.sh")
            password = shlex.quote(f"{settings.sasl_mechanism}=[password=PASSWORD-OF-THE-CONNECTION]")
            yield f"{tool} --alter --entity-type users --entity-name {user} --add-config {password}"


def _login(clients: Clients, name: str, role: Role, cluster_id: str) -> SetUpFinding:
    if wrong := wrong_cluster_id(clients, name, cluster_id):
        return SetUpFinding(name, "login", "failed", f"{wrong}: correct the connection of {role} or the cluster_id")
    username = clients.cluster(name, role).settings.username
    if username and (wrong := another_principal(clients, name, role, f"User:{username}")):
        return SetUpFinding(name, "login", "failed", wrong)
    return SetUpFinding(name, "login", "ok", f"the {role} can log in")


def _certificates(clients: Clients, name: str) -> Iterator[SetUpFinding]:
    found = certificates_of(clients, [name])
    yield of_check(name, found, *map(_show, found.facts.values()), name="certificates")


def _principals(clients: Clients, name: str) -> Iterator[SetUpFinding]:
    found = principals_of(clients, [name])
    yield of_check(name, found, *map(_show, found.facts.values()), name="principals")


def _show(file: str) -> str:
    return f"openssl x509 -noout -subject -nameopt RFC2253 -enddate -in {shlex.quote(file)}"


def _addresses(clients: Clients, name: str) -> Iterator[SetUpFinding]:
    operator, declared = clients.cluster(name, "operator"), clients.topology.cluster(name).cluster_id
    found = operator.unusable_addresses(declared)
    for where, wrong in found.items():
        if wrong:
            host = shlex.quote(where.rpartition(":")[0].strip("[]"))
            yield SetUpFinding(name, "address", "failed", wrong, commands=(f"getent hosts {host}",))
    if not any(found.values()):
        said = f"each of {len(found)} addresses of the connection and of the brokers leads to {name}"
        yield SetUpFinding(name, "addresses", "ok", said)


def _clock(clients: Clients, name: str) -> Iterator[SetUpFinding]:
    clock, there = clients.clock, clients.cluster(name, "operator").controller_clock
    before = clock.now()
    shown = there.now()
    after = clock.now()
    yield of_check(name, judge_clock(name, before, shown, after), "chronyc tracking || timedatectl timesync-status")


def judge_clock(cluster: str, before: datetime, shown: datetime | None, after: datetime) -> Check:
    """Judge this machine's clock by that of a cluster's active controller.

    :param before: this machine's time when it asked, UTC
    :param shown: the controller's; ``None`` if it does not say it
    :param after: this machine's time when it had the answer, UTC
    """
    if shown is None:
        return Check("clock", "unknown", f"the active controller of {cluster} does not say what time it is")
    apart = max(before - shown, shown - after, timedelta())
    if apart <= _CLOCKS_APART:
        said = f"this machine and the active controller of {cluster} agree on the time"
        return Check("clock", "ok", f"{said}, to within {(apart + after - before).total_seconds():.1f} s")
    way = "ahead of" if before > shown else "slower than"
    said = f"the clock of this machine is {about(apart)} {way} that of the active controller of {cluster}"
    limit = f"expected at most {_CLOCKS_APART.seconds} s"
    return Check("clock", "failed", f"{said}, {limit}: let both follow the same time servers")


def _rights(clients: Clients, name: str, groups: list[ProtectionGroup]) -> Iterator[SetUpFinding]:
    spec = clients.topology.cluster(name)
    if not spec.access_rules.acls_decide:
        said = f"rights are decided by {spec.access_rules.where}: see its rules"
        yield SetUpFinding(name, "rights", "unknown", said)
        return
    found = missing_rights(name, spec, groups, clients.cluster(name, "operator").acls.list())
    yield from found or [SetUpFinding(name, "rights", "ok", "every principal has its rights")]


def _access_rules(clients: Clients, name: str, groups: list[ProtectionGroup]) -> Iterator[SetUpFinding]:
    """Read the rules where they are kept; a change is tried nowhere before the first fence."""
    spec = clients.topology.cluster(name).access_rules
    if spec.is_direct:
        return
    rules = clients.access_rules(name, groups[0].with_matched(()))
    # What brokers list is asked for by the rights. Only a program is asked for its own list.
    _ = rules.coming(frozenset()) if spec.acls_decide else rules.list()
    wrong = list(unusable_rules_file(spec))
    yield from (SetUpFinding(name, "access_rules", "failed", each) for each in wrong)
    if not wrong:
        yield SetUpFinding(name, "access_rules", "ok", f"the access rules of {name} can be read in {spec.where}")


def unusable_rules_file(spec: AccessRulesSpec) -> Iterator[str]:
    """Yield why a file of access rules could not be written or applied by this process."""
    if spec.path is None:
        return
    file = LockedFile(Path(spec.path))
    if not file.path.parent.is_dir():
        yield f"{file.path.parent} is not there, or no folder: correct the path, or make the folder"
    else:
        try:
            file.try_out()
        except OSError as error:
            yield f"{file.path} cannot be written ({cause(error)}): check the folder, its disk and its rights"
    if spec.apply and shutil.which(spec.apply[0]) is None:
        yield f"the program {spec.apply[0]}, which is to apply {spec.path}, is not there or cannot be executed"


def missing_rights(
    name: str, spec: ClusterSpec, groups: Iterable[ProtectionGroup], acls: frozenset[Acl]
) -> list[SetUpFinding]:
    """Return a finding for each right that a cluster does not give, each once.

    :param spec: how the cluster is declared
    :param acls: all of the cluster
    """
    found: dict[tuple[str, frozenset[Acl]], SetUpFinding] = {}
    for group in groups:
        authorizer = _authorizer(spec, group, without_fences(group, acls))
        for right in needed_on(name, spec, [group]):
            if missing := _missing(right, authorizer):
                may = " and ".join(sorted(acl.operation for acl in missing))
                where = "the cluster" if right.resource is ResourceType.CLUSTER else f"{right.kind} {right.shown}"
                detail = f"{right.principal} lacks {may} on {where}: needed to {right.reason}"
                found[detail, missing] = SetUpFinding(name, "right", "failed", detail, missing)
    return list(found.values())


def _authorizer(spec: ClusterSpec, group: ProtectionGroup, acls: frozenset[Acl]) -> Authorizer:
    allowed_to_all = bool(spec.allow_everyone_if_no_acl)
    return Authorizer(acls, frozenset(group.super_users), allow_if_no_acl=allowed_to_all)


def _missing(right: NeededRight, authorizer: Authorizer) -> frozenset[Acl]:
    # A literal ACL on the bare prefix is none on the names that begin with it.
    name = f"{right.name}~" if right.pattern is PatternType.PREFIXED else right.name

    def allowed(operation: AclOperation) -> bool:
        asked = _OF_ALL[right.resource] if operation is _OP.ALL else (operation,)
        return all(authorizer.allows(right.principal, each, right.resource, name) for each in asked)

    return frozenset(acl for acl in right.acls if not allowed(acl.operation))


def _register(clients: Clients, name: str, groups: list[ProtectionGroup]) -> Iterator[SetUpFinding]:
    """Name whoever may write the register, and has no business there, as an adoption does."""
    context = GroupContext(groups[0].name, clients)
    check = register_checks.register_writers(context, (name,))
    denies: set[Acl] = set()
    excess: set[Acl] = set()
    if check.outcome == "failed":
        operator = clients.cluster(name, "operator")
        wanted = guarded(clients.topology.protection_groups.values(), operator.topics.names())
        authorizer = _authorizer(clients.topology.cluster(name), groups[0], operator.acls.list())
        for each in intruders(authorizer, wanted, super_users=groups[0].super_users):
            if each.principal != EVERYONE:
                denies.add(_deny(each))
            elif each.right is not None:
                excess.add(each.right)
    yield replace(of_check(name, check, name="register"), missing=frozenset(denies), excess=frozenset(excess))


def _workers(clients: Clients, name: str, groups: list[ProtectionGroup]) -> Iterator[SetUpFinding]:
    spec, acls = clients.topology.cluster(name), clients.cluster(name, "operator").acls.list()
    for group in groups:
        acls = without_fences(group, acls)
    tool = ToolAccess(name, spec.route_bootstrap_servers, ADMIN_FILE)
    yield from examine_workers(clients, name, groups, _authorizer(spec, groups[0], acls), tool)


def _deny(intruder: Intruder) -> Acl:
    """Return what forbids it on this project's own name alone: the same right may serve applications elsewhere."""
    resource, name = intruder.guarded.resource, intruder.guarded.name
    return Acl(resource, name, PatternType.LITERAL, intruder.principal, intruder.operation, AclPermission.DENY)


def _flow(clients: Clients, flow: Flow) -> Iterator[SetUpFinding]:
    # Which topics match patterns does not matter to whoever runs the flow.
    replicator = clients.replicator(flow, group=clients.topology.group(flow.group).with_matched(()))
    status = replicator.status()
    refusals = replicator.refusals()
    for each in refusals:
        yield SetUpFinding(flow.target, "flow", "failed", f"{flow} cannot run: {each}")
    if not refusals:
        said = f"what runs {flow} answers and would run it: it is {status.state}"
        yield SetUpFinding(flow.target, "flow", "ok", said)
    if (topic := replicator.positions_topic) is not None:
        yield from _positions_topic(clients, flow.target, topic.name)


def _positions_topic(clients: Clients, cluster: str, topic: str) -> Iterator[SetUpFinding]:
    try:
        settings = clients.cluster(cluster, "operator").topics.configs([topic])[topic]
    except NotFound:
        return  # its worker has never run
    found = positions_topic.judged(f"{topic} on {cluster}", settings)
    set_it = f"--alter --entity-type topics --entity-name {shlex.quote(topic)} --add-config {positions_topic.SETTINGS}"
    command = f"{_tool(clients, cluster, 'kafka-configs.sh')} {set_it}"
    yield of_check(cluster, found, command)
