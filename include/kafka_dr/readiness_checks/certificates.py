"""When the certificates of the connections end, and which principal the brokers see in each."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from kafka_dr.clusters.errors import NotAuthorized
from kafka_dr.counted import counted
from kafka_dr.durations import about
from kafka_dr.outcomes import Check
from kafka_dr.runs.clients import ROLES, Clients, Role
from kafka_dr.runs.run import Run

#: A certificate that ends sooner is named: a person needs time to replace it.
_CERTIFICATE_DAYS = 30
_SHOWN = 3
_MAPPING = "ssl.principal.mapping.rules"
#: A rule of them: what it matches, what it makes of that, and in which case.
_RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)|DEFAULT")


def certificates_last(run: Run) -> Check:
    """Return whether every client certificate and authority that a connection names is valid for a month from now."""
    return certificates_of(run.clients, run.group.clusters)


def certificates_of(clients: Clients, clusters: Collection[str]) -> Check:
    """Return the same of some clusters."""
    name, now = "certificates_last", clients.clock.now()
    files = sorted({path for cluster in clusters for path in _certificate_files(clients, cluster)})
    if not files:
        return Check(name, "ok", "no connection names a certificate file")
    ends = {path: _ends_at(path) for path in files}
    unread = [path for path, at in ends.items() if at is None]
    if unread:
        return Check(name, "unknown", f"no certificate can be read in {', '.join(unread[:_SHOWN])}: expected PEM")
    first, at = min(((path, at) for path, at in ends.items() if at is not None), key=lambda found: found[1])
    said = f"{first} ends at {at:%Y-%m-%d %H:%M} UTC"
    if at <= now:
        return Check(name, "failed", f"{said}, which has passed: replace it", {"file": first})
    if at - now < timedelta(days=_CERTIFICATE_DAYS):
        return Check(name, "warning", f"{said}, in {about(at - now)}: replace it", {"file": first})
    many = counted(len(files), "certificate file is", "certificate files are")
    return Check(name, "ok", f"{many} valid; {said}, the first of them")


def principals_declared(run: Run) -> Check:
    """Return whether the brokers see the declared principal in each client certificate of a connection."""
    return principals_of(run.clients, run.group.clusters)


def principals_of(clients: Clients, clusters: Collection[str]) -> Check:
    """Return the same of some clusters. A certificate that was replaced may have another subject than before."""
    name = "certificates_as_declared"
    for cluster in clusters:
        settings = {role: clients.cluster(cluster, role).settings for role in ROLES}
        files = {role: each.certificate_file for role, each in settings.items() if each.security_protocol == "SSL"}
        rules, unless = _mapping(clients, cluster) if files else (frozenset[str](), "")
        for role, rule in ((role, rule) for role in files for rule in sorted(rules)):
            file = files[role] or ""
            found = principal_of(file, rule)
            if found is None:
                said = f"it is not known which principal the brokers of {cluster} see in {file}: see that it is PEM"
                return Check(name, "unknown", f"{said}, and compare its subject with {_MAPPING}", {"file": file})
            if wrong := another_principal(clients, cluster, role, found):
                return Check(name, "failed", f"on {cluster} {wrong}{unless}", {"file": file})
    return Check(name, "ok", "each client certificate has the declared principal")


def another_principal(clients: Clients, cluster: str, role: Role, found: str) -> str:
    """Return a sentence if a role logs in as somebody else than a group on the cluster declares; empty if not.

    :param found: the principal that the brokers see
    """
    for group in clients.topology.protection_groups.values():
        declared = getattr(group, f"{role}_principal")
        if declared and cluster in group.clusters and declared != found:
            said = f"the {role} logs in as {found}, and {group.name} declares {declared}"
            return f"{said}, so it has the rights of another: correct {role}_principal, or the connection"
    return ""


def _mapping(clients: Clients, cluster: str) -> tuple[frozenset[str], str]:
    """Return the rules of all brokers, and what to add if the operator may not read them."""
    operator = clients.cluster(cluster, "operator")
    try:
        shown = operator.broker_settings.read(operator.topics.identity().brokers, (_MAPPING,))
    except NotAuthorized:
        return frozenset({"DEFAULT"}), f", unless {_MAPPING} of the brokers say otherwise, which it may not read"
    return frozenset(found.get(_MAPPING) or "DEFAULT" for found in shown.values()), ""


def principal_of(file: str, rules: str) -> str | None:
    """Return the principal that brokers see in a client certificate; ``None`` if it, or a rule, cannot be read.

    :param file: PEM; its first certificate is the client's
    :param rules: the brokers' ``ssl.principal.mapping.rules`` (KIP-371); the first one that matches decides
    """
    found = _certificates(file)
    if not found:
        return None
    subject = found[0].subject.rfc4514_string()
    for rule in _RULE.finditer(rules):
        pattern, made, case = rule.groups()
        if pattern is None:
            break
        try:
            match = re.fullmatch(pattern, subject)
        except re.error:  # Java knows more of patterns
            return None
        if match is not None:
            name = match.expand(re.sub(r"\$(\d)", r"\\\1", made))
            return f"User:{name.lower() if case == 'L' else name.upper() if case == 'U' else name}"
    return f"User:{subject}"


def _certificate_files(clients: Clients, cluster: str) -> list[str]:
    found = (clients.cluster(cluster, role).settings for role in ROLES)
    return [path for each in found for path in (each.ca_file, each.certificate_file) if path]


def _ends_at(path: str) -> datetime | None:
    """Return when the first certificate of a PEM file ends, UTC; ``None`` if it holds none that can be read."""
    return min((each.not_valid_after_utc for each in _certificates(path)), default=None)


def _certificates(path: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(Path(path).read_bytes())
    except (OSError, ValueError):
        return []
