"""I8: is a password in any file but those that are made to hold it, and that only their owner can read?"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

import httpx

from lab.errors import LabError
from lab.invariants.model import STATEMENTS, InvariantResult

#: Where a lab keeps its passwords, and nowhere else.
_MADE_FOR_IT = (
    "credentials.json",
    "airflow/airflow.cfg",
    "airflow/connections.json",
    "airflow/passwords.json",
    "clients/*/*.properties",
    "connect/*/secrets.properties",
    "kafka/*/server.properties",
)
_BLOCK = 1 << 20
_CALL_SECONDS = 10.0


def check_secrets(
    home: Path, secrets: Mapping[str, str], *, argv: Mapping[str, str], connectors: Mapping[str, str]
) -> InvariantResult:
    """Look for every password in every file of a lab, in what its processes were started with, and at Connect's REST.

    :param home: all that the lab has written is in it: logs, evidence, Airflow's database, the brokers' logs
    :param secrets: passwords by what they open
    :param argv: command lines by process
    :param connectors: configurations by connector, as anybody can ask Connect for them
    """
    files, found = 0, []
    for path in sorted(each for each in home.rglob("*") if each.is_file() and not each.is_symlink()):
        try:
            held = held_in(path, secrets)
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            continue  # what runs still, cleans up
        files += 1
        name = path.relative_to(home)
        if held and (mode & 0o077 or not _is_made_for_it(name)):
            found.append(f"{name} (mode {mode:o}) holds the password of {held[0]}")
    spoken = {f"the arguments of {name}": text for name, text in argv.items()}
    spoken |= {f"the configuration of {name}": text for name, text in connectors.items()}
    found += [f"{where} hold the password of {what}" for where, text in spoken.items() for what in _in(text, secrets)]
    if found:
        return InvariantResult(
            "I8", "violated", f"passwords are in {len(found)} files that are not for them", tuple(found[:3])
        )
    if not (secrets and files and argv):
        return InvariantResult("I8", "unknown", "there was nothing to look for, or nowhere to look")
    looked = f"{files} files, {len(argv)} processes and {len(connectors)} connectors"
    return InvariantResult(
        "I8", "held", f"{STATEMENTS['I8']}: {looked} were searched for {len(secrets)} of them at the end"
    )


def connector_configs(urls: Sequence[str]) -> dict[str, str]:
    """Ask each Connect for the configurations of its connectors and their tasks.

    :raises LabError: one does not answer
    """
    found: dict[str, str] = {}
    for url in urls:
        try:
            reply = httpx.get(f"{url}/connectors?expand=info&expand=status", timeout=_CALL_SECONDS)
            reply.raise_for_status()
        except httpx.HTTPError as error:
            raise LabError(f"Connect at {url} does not say what its connectors are configured with: {error}") from error
        found |= {name: str(said) for name, said in reply.json().items()}
    return found


def held_in(path: Path, secrets: Mapping[str, str]) -> list[str]:
    """Return which passwords are in a file, however large it is."""
    wanted = {name: secret.encode() for name, secret in secrets.items()}
    return sorted({name for block in _blocks(path, wanted) for name, secret in wanted.items() if secret in block})


def _blocks(path: Path, wanted: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield a file in pieces that overlap by the longest password."""
    overlap, rest = max(map(len, wanted.values()), default=0), b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield rest + block
            rest = block[-overlap:]


def _in(text: str, secrets: Mapping[str, str]) -> list[str]:
    return [name for name, secret in secrets.items() if secret in text]


def _is_made_for_it(name: PurePath) -> bool:
    return any(len(name.parts) == pattern.count("/") + 1 and name.match(pattern) for pattern in _MADE_FOR_IT)
