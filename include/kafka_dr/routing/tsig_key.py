"""The key that signs what is sent to a name server, and by which the server knows who sends it (TSIG, RFC 8945)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

from kafka_dr.errors import Refused

#: What RFC 8945, 6, lets servers and clients use today.
_ALGORITHMS = ("hmac-sha256", "hmac-sha384", "hmac-sha512")


@dataclass(frozen=True, slots=True)
class TsigKey:
    """A key. ``repr`` does not show its secret.

    :param name: as the server knows it
    :param secret: in base64
    """

    name: str
    secret: str = field(repr=False)
    algorithm: str = "hmac-sha256"

    def __post_init__(self) -> None:
        try:
            usable = bool(self.name and base64.b64decode(self.secret, validate=True))
        except binascii.Error:
            usable = False
        if not usable:
            raise Refused(
                "it holds no TSIG key: write the name of the key as login, and its secret in base64 as password"
            )
        if self.algorithm not in _ALGORITHMS:
            raise Refused(f"its algorithm is {self.algorithm!r}: write one of {', '.join(_ALGORITHMS)} in its extra")
