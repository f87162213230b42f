"""``keygen``: a key with which an approver signs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from kafka_dr.approvals.signed import public_line
from kafka_dr.causes import cause
from kafka_dr.command_line.exit_codes import ExitCode
from kafka_dr.command_line.opened import AsJson, ended
from kafka_dr.connections.sources import private_text
from kafka_dr.errors import Refused
from kafka_dr.evidence.signing import SigningKey, UnusableKey, fingerprint

KeyFile = Annotated[
    Path | None, typer.Option("--key", help="your private key, as keygen wrote it, mode 0600", show_default=False)
]


def keygen(
    file: Annotated[Path, typer.Argument(help="where to write the private key; a file that exists is refused")],
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key: the private key goes into a file that only you may read, the public one is printed.

    Write the public line into approver_keys of the topology. Compare the fingerprint on the telephone.

    Exit codes: 0 written; 2 the file exists or cannot be written.
    """
    key = SigningKey.generate()
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as private:
            private.write(key.private_pem)
    except OSError as error:
        raise ended(Refused(f"{file} cannot be written: {cause(error)}"), ExitCode.MISUSED) from None
    found = {"public_key": public_line(key.public_pem), "fingerprint": fingerprint(key.public_pem), "file": str(file)}
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    typer.echo(found["public_key"])
    typer.echo(f"fingerprint {found['fingerprint']}", err=True)


def read_key(file: Path) -> SigningKey:
    """Return the private key of a file.

    :raises Refused: it cannot be read, others may read it, or it holds no key
    """
    try:
        return SigningKey.of(private_text(file))
    except UnusableKey as error:
        raise Refused(f"{file}: {error}") from error
