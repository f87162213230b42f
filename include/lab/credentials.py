"""The passwords of one lab: made at random when it is made, kept in one file that only its owner can read."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lab.errors import LabError
from lab.layout import Home

BROKER = "broker"
ADMIN = "admin"
#: Leaves notes on runs through Airflow's API, for the tasks; it is nobody's, and approves nothing.
NOTES = "dr-notes"
#: The name under which the key that signs evidence is kept.
SIGNING_KEY = "key/signing"
#: The name under which the key that encrypts kept stranded records is kept.
CONTENT_KEY = "key/content"
AIRFLOW_USERS = ("admin", "alice", "bob", "carol", NOTES)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Passwords by what they open, e.g. ``kafka/east/dr-operator`` or ``airflow/alice``."""

    _passwords: Mapping[str, str] = field(repr=False)

    def kafka(self, cluster: str, principal: str) -> str:
        """Password of a principal on a cluster."""
        return self._passwords[f"kafka/{cluster}/{principal}"]

    def airflow(self, user: str) -> str:
        """Password of a user of Airflow."""
        return self._passwords[f"airflow/{user}"]

    @property
    def signing_key(self) -> str:
        """The key that signs evidence, in PEM."""
        return self._passwords[SIGNING_KEY]

    @property
    def content_key(self) -> str:
        """The key that encrypts kept stranded records: 32 bytes in base64."""
        return self._passwords[CONTENT_KEY]

    def key(self, name: str) -> str:
        """A key that Airflow signs or encrypts with, or that the processes of Spark's cluster share."""
        return self._passwords[f"key/{name}"]


def obtain(home: Home, *, clusters: tuple[str, ...], principals: tuple[str, ...]) -> Credentials:
    """Read the passwords of this lab, and make those that it lacks."""
    stored = _stored(home.credentials)
    wanted = [f"kafka/{cluster}/{principal}" for cluster in clusters for principal in (BROKER, ADMIN, *principals)]
    wanted += [f"airflow/{user}" for user in AIRFLOW_USERS]
    wanted += ["key/jwt", "key/api", "key/fernet", "key/spark"]
    makers: dict[str, Callable[[], str]] = {SIGNING_KEY: _new_signing_key, CONTENT_KEY: _new_content_key}
    makers |= {name: partial(secrets.token_urlsafe, 64 if name.startswith("key/") else 24) for name in wanted}
    if made := {name: make() for name, make in makers.items() if name not in stored}:
        stored |= made
        write_private(home.credentials, json.dumps(stored, indent=1) + "\n")
    return Credentials(stored)


def _new_signing_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def _new_content_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode("ascii")


def passwords_of(home: Home) -> Mapping[str, str]:
    """Return every password of a lab by what it opens, for the check that they are in no other file."""
    return _stored(home.credentials)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read; readers see the old content or the new, nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    draft.replace(path)


def _stored(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise LabError(f"{path} is not readable ({error}): run `down --delete` and then `up`") from error
    return {str(name): str(value) for name, value in content.items()}
