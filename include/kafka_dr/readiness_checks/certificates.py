"""When the certificates of the connections end, and which principal the brokers see in each."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from kafka_dr.durations import about
from kafka_dr.outcomes import Check
from kafka_dr.runs.clients import ROLES, Clients
from kafka_dr.runs.run import Run

#: A certificate that ends sooner is named: a person needs time to replace it.
_CERTIFICATE_DAYS = 30
_SHOWN = 3
#: A rule of ``ssl.principal.mapping.rules``: what it matches, what it makes of that, and in which case.
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
    return Check(name, "ok", f"{len(files)} certificate files are valid; {said}, the first of them")


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
