"""The files that TLS needs in addition to an address. Whoever uses them checks the server's certificate."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_dr.errors import Refused


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files on this machine.

    :param ca_file: the only authorities that are trusted; if omitted, the public ones
    :param certificate_file: the client's certificate and those that signed it; its key, if ``key_file`` is omitted
    :param key_file: the key of that certificate
    :param key_password: of an encrypted key
    """

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)

    def context(self, *, public: Callable[[], ssl.SSLContext] = ssl.create_default_context) -> ssl.SSLContext:
        """Return settings that check the certificate and the host name of the server.

        :param public: returns such settings with the public authorities
        :raises Refused: a file cannot be read or used
        """
        try:
            context = ssl.create_default_context(cafile=self.ca_file) if self.ca_file else public()
            if self.certificate_file:
                # Without a password OpenSSL would ask a person at the terminal.
                context.load_cert_chain(self.certificate_file, self.key_file, self.key_password or "")
        except (OSError, ValueError) as error:
            used = " and ".join(each for each in (self.ca_file, self.certificate_file, self.key_file) if each)
            raise Refused(
                f"the certificates in {used} cannot be used, because {_why(error)}: correct the paths or the password "
                "of the key"
            ) from error
        return context


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "a file is missing"
    if isinstance(error, PermissionError):
        return "this process may not read a file"
    return "a file holds no certificate or key in PEM, or the password of the key is wrong"
