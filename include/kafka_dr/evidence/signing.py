"""Signatures of sealed runs: Ed25519 (RFC 8032), so that ``openssl`` alone can check them."""

from __future__ import annotations

import hashlib

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from kafka_dr.errors import Refused

_NOT_PRIVATE = (
    "The signing key cannot be used: expected an unencrypted Ed25519 private key in PEM "
    "(openssl genpkey -algorithm ed25519 writes one)."
)
_NOT_PUBLIC = "The public key cannot be used: expected an Ed25519 public key in PEM."


class UnusableKey(Refused):
    """A key is not an Ed25519 key in PEM. Nothing was signed or checked with it."""


class SigningKey:
    """A private key that signs evidence.

    :param key: the key itself; it is never shown
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def of(cls, pem: str) -> SigningKey:
        """Read a key.

        :param pem: the key as unencrypted PKCS #8 in PEM
        :raises UnusableKey: it is none
        """
        try:
            found = load_pem_private_key(pem.encode("utf-8"), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise UnusableKey(_NOT_PRIVATE) from error
        if not isinstance(found, Ed25519PrivateKey):
            raise UnusableKey(_NOT_PRIVATE)
        return cls(found)

    @classmethod
    def generate(cls) -> SigningKey:
        """Return a new key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def private_pem(self) -> str:
        """The key in PEM, for a file that only its owner may read, or for a connection."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")

    @property
    def public_pem(self) -> str:
        """The public half in PEM, as it is put into each sealed run and into the register."""
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    def sign(self, data: bytes) -> bytes:
        """Return the signature of some bytes: 64 bytes, as ``openssl pkeyutl -sign -rawin`` writes them."""
        return self._key.sign(data)


def is_signed(data: bytes, signature: bytes, public_pem: str) -> bool:
    """Return whether a signature is that of exactly these bytes, by the owner of a public key.

    :raises UnusableKey: the public key is no Ed25519 key
    """
    key = _public(public_pem)
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def fingerprint(public_pem: str) -> str:
    """Return the SHA-256 of a public key's DER form, in hex: what two people compare on the telephone.

    The same as ``openssl pkey -pubin -outform DER | sha256sum``.

    :raises UnusableKey: it is no Ed25519 public key in PEM
    """
    der = _public(public_pem).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def _public(pem: str) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(pem.encode("utf-8"))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnusableKey(_NOT_PUBLIC) from error
    if not isinstance(key, Ed25519PublicKey):
        raise UnusableKey(_NOT_PUBLIC)
    return key
