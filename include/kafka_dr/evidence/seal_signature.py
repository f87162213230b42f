"""Whether a seal is signed by the right key."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.evidence.seal import FileDigest, Manifest, proof_names, seal_names, sums_of
from kafka_dr.evidence.signing import UnusableKey, fingerprint, is_signed


def check_signature(
    number: int, manifest: Manifest, stored: Mapping[str, bytes], expected: str | None
) -> tuple[list[str], list[str]]:
    """Return what is wrong about the signature of a seal, and what stays unproven.

    :param number: of the seal, from 1
    :param stored: content of the run's files, by name
    :param expected: the fingerprint of the trusted key; ``None`` if no key is trusted
    """
    names, page = proof_names(number), seal_names(number)[1]
    wanted = sums_of((*manifest.files, FileDigest.of(page, stored[page]))).encode("utf-8")
    if stored.get(names.sums) != wanted:
        return [f"{names.sums}: it is missing or does not list what the manifest lists"], []
    if manifest.signer is None:
        return [], [f"{page}: it is not signed; whoever can write the evidence could have written all of it"]
    if names.signature not in stored or names.public_key not in stored:
        return [f"{names.signature} or {names.public_key}: the seal was signed and the file is missing"], []
    try:
        public = stored[names.public_key].decode("utf-8", errors="replace")
        good = is_signed(wanted, stored[names.signature], public) and fingerprint(public) == manifest.signer
    except UnusableKey:
        good = False
    if not good:
        return [f"{names.signature}: it is not the signature of {names.sums} by the key that the manifest names"], []
    if expected is None:
        said = f"the key {manifest.signer} signed; compare it with the register's, or give the key that you trust"
        return [], [said]
    if manifest.signer != expected:
        return [f"{names.public_key}: the key {manifest.signer} signed, the trusted key is {expected}"], []
    return [], []
