"""How a person's own client reaches a cluster: a properties file, with the keys of Java's tools or of librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kafka_dr.causes import cause
from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.errors import Refused

_ENTRY = re.compile(r"\s*([^\s=:]+)\s*[=:]\s*(.*?)\s*")
_LOGIN = re.compile(r'\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))')
_JAAS = "sasl.jaas.config"
#: Keys that only Java knows, and the keys of librdkafka with the same meaning.
_STORES = {
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
}
#: Read with the keys above, or of no meaning where stores are PEM.
_READ = {"ssl.truststore.type", "ssl.keystore.type", "ssl.truststore.password", "ssl.keystore.password"}


def read_client_file(path: Path, bootstrap_servers: str) -> ClientSettings:
    """Return how to reach a cluster.

    :param bootstrap_servers: ``host:port`` pairs, whatever the file says
    :raises Refused: the file cannot be read, or asks for what is not supported; the message holds no value of it
    """
    try:
        entries = _entries(path.read_text("utf-8"))
        return ClientSettings.from_librdkafka({**_as_librdkafka(entries), "bootstrap.servers": bootstrap_servers})
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"the client settings in {path} cannot be read ({cause(error)}): name another file") from error
    except Refused as error:
        raise Refused(f"the client settings in {path} cannot be used: {error}") from error


def _entries(text: str) -> dict[str, str]:
    whole = re.sub(r"\\\r?\n\s*", "", text)
    rows = (each for each in whole.splitlines() if each.strip() and each.lstrip()[0] not in "#!")
    return {found[1]: found[2] for found in map(_ENTRY.fullmatch, rows) if found}


def _as_librdkafka(entries: Mapping[str, str]) -> dict[str, str]:
    if not {_JAAS, *_STORES} & set(entries):
        return dict(entries)
    # Only Java takes a backslash for the beginning of an escape.
    java = {key: re.sub(r"\\(.)", r"\1", value) for key, value in entries.items()}
    found = {key: value for key, value in java.items() if key not in {_JAAS, *_STORES, *_READ}}
    for key, own in _STORES.items():
        if key in java:
            kind = java.get(key.replace("location", "type"), "JKS")
            if kind != "PEM":
                raise Refused(
                    f"{key} is a store of type {kind}: convert it to PEM (keytool -exportcert -rfc for authorities, "
                    f"openssl pkcs12 -in FILE -out FILE.pem for a key), and set {key.replace('location', 'type')}=PEM"
                )
            found |= dict.fromkeys(own, java[key])
    for name, quoted, bare in _LOGIN.findall(java.get(_JAAS, "")):
        found[f"sasl.{name}"] = re.sub(r"\\(.)", r"\1", quoted) or bare
    return found
