"""What a group needs around its clusters: evidence, routes, vantages, people who approve; and its fence."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kafka_dr.causes import cause
from kafka_dr.counted import counted
from kafka_dr.disaster.probes import probe_vantages
from kafka_dr.doctor.finding import SetUpFinding, of_check
from kafka_dr.evidence.storage_path import create_file, file_names
from kafka_dr.fencing.closure import lacking
from kafka_dr.health.report_only import judge_route
from kafka_dr.json_documents import write_whole
from kafka_dr.quoting import address
from kafka_dr.register import RegisterState
from kafka_dr.routing import Route, RouteSilent, RouteUnreadable, RouteUnwritable
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.sealing import evidence_can_be_signed
from kafka_dr.topology.model import ProtectionGroup

#: Where a file is written, read and removed, below the evidence root.
_TRIED = ("doctor", "tried")


def examine_evidence(clients: Clients) -> Iterator[SetUpFinding]:
    """Write, read, replace and remove a file of its own, and see whether the key for seals can be used."""
    yield _storage(clients)
    yield of_check("evidence", evidence_can_be_signed(clients), name="signature")


def _storage(clients: Clients) -> SetUpFinding:
    root, began = clients.evidence_root, clients.clock.monotonic()
    file, written = root.joinpath(*_TRIED), clients.executor.name.encode()
    look = f"ls -ld {shlex.quote(str(root))}" if str(root).startswith("/") else ""
    again = False
    try:
        write_whole(file, written)
        read = file.read_bytes()
        try:
            create_file(file, written)
            again = True
        except FileExistsError:
            pass
        file.unlink()
    except OSError as error:
        said = f"the evidence at {root} cannot be written, read and removed ({cause(error)})"
        commands = (look,) if look else ()
        wrong = f"{said}: correct evidence.root or its rights"
        return SetUpFinding("evidence", "storage", "failed", wrong, commands=commands)
    seconds = clients.clock.monotonic() - began
    if read != written:
        said = f"the evidence at {root} gave back something else than was written"
        detail = f"{said}: see whether another process examined it just now"
        return SetUpFinding("evidence", "storage", "unknown", detail)
    if again:
        said = f"the evidence at {root} lets a file be created that is there already, so two processes could file"
        return SetUpFinding("evidence", "storage", "failed", f"{said} the same step: use a storage that refuses it")
    said = "a file was written, read, refused a second time and removed"
    return SetUpFinding("evidence", "storage", "ok", f"{said} in {seconds:.1f} s")


def examine_group(clients: Clients, group: ProtectionGroup, *, by_keys: bool) -> Iterator[SetUpFinding]:
    """Ask where applications of a group find the active cluster, and who looks at its clusters from elsewhere.

    Of a group that is adopted, also whether people can answer its questions, and whether its standbys are fenced.

    :param by_keys: whether people answer on the command line alone
    """
    context = GroupContext(group.name, clients)
    yield _route(context)
    for cluster in group.clusters if group.disaster.vantages else ():
        yield from _vantages(clients, group, cluster)
    if (state := context.read_register_state()) is not None:
        yield _kept_evidence(context, state)
        if by_keys:
            yield _approvers(group)
        for cluster in state.standbys:
            yield _fence(context, state, cluster)


def _approvers(group: ProtectionGroup) -> SetUpFinding:
    if named := ", ".join(sorted(group.approver_keys)):
        return SetUpFinding(group.name, "approvers", "ok", f"{named} can answer with a key")
    said = f"without Airflow nobody can answer a question of {group.name}, other than by breaking the glass"
    todo = "let each approver make a key, and put what is printed into approver_keys"
    return SetUpFinding(
        group.name, "approvers", "failed", f"{said}: {todo}", commands=("python -m kafka_dr keygen NAME.pem",)
    )


def _fence(context: GroupContext, state: RegisterState, cluster: str) -> SetUpFinding:
    """Return whether a standby has the DENYs that the record requires; brokers are not asked for a write."""
    name = context.group.name
    if missing := lacking(context.required_denies(state, cluster), context.rules_in_force(cluster)):
        many = counted(len(missing), "DENY", "DENYs")
        said = f"{cluster} lacks {many} of its fence, so applications may do there what they must not"
        add = f"python -m kafka_dr health --group {shlex.quote(name)}"
        return SetUpFinding(name, "fence", "failed", f"{said}: dr_health adds them", commands=(add,))
    return SetUpFinding(name, "fence", "ok", f"{cluster} has every DENY of its fence")


def _route(context: GroupContext) -> SetUpFinding:
    name, router = context.group.name, context.clients.router(context.group)
    try:
        router.try_out()
        route = router.read()
    except (RouteUnwritable, RouteUnreadable, RouteSilent) as error:
        return SetUpFinding(name, "route", "failed", str(error), commands=router.shown_by())
    if (state := context.read_register_state()) is not None:
        servers = context.clients.topology.cluster(state.active).route_bootstrap_servers
        wanted = Route(name, state.active, servers, state.epoch, context.clock.now())
        return of_check(name, judge_route(state, route), *router.by_hand(wanted))
    seen = f"leads to {route.active}" if route is not None else "is not there yet: the adoption writes it"
    return SetUpFinding(name, "route", "ok", f"the route can be read and replaced, and {seen}")


def _vantages(clients: Clients, group: ProtectionGroup, cluster: str) -> Iterator[SetUpFinding]:
    for probe in probe_vantages(group, clients, source=cluster):
        declared = group.disaster.vantages[probe.name.partition(" ")[2]].replace("{cluster}", cluster)
        ask = f"curl -sS {shlex.quote(address(declared))}"
        silent = probe.outcome == "unknown"
        yield SetUpFinding(
            group.name, "vantage", "failed" if silent else "ok", probe.detail, commands=(ask,) if silent else ()
        )


def _kept_evidence(context: GroupContext, state: RegisterState) -> SetUpFinding:
    """Return whether the evidence knows the runs of a group: somebody may have changed where it is kept."""
    root, group = context.clients.evidence_root, context.group.name
    if file_names(root.joinpath("runs", group)):
        return SetUpFinding("evidence", "kept", "ok", f"the evidence holds runs of {group}")
    copy = f"cp -an FORMER-ROOT/. {shlex.quote(str(root))}/" if str(root).startswith("/") else ""
    said = f"the evidence at {root} holds nothing of {group}, whose register knows run {state.run}"
    why = "evidence.root was changed, or this machine sees another storage: name the former root, or copy what it holds"
    return SetUpFinding("evidence", "kept", "failed", f"{said}: {why}", commands=(copy,) if copy else ())
