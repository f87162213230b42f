"""MirrorMaker can copy configuration and ACLs too. It must not: it asks nobody, and knows nothing of a fence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_dr.config_sync.items import Item, ItemKind, ItemVerdict

#: What MirrorMaker does unless its configuration says no.
_SYNCS = ("sync.topic.configs.enabled", "sync.topic.acls.enabled")
_OFF = "false"


def compare_connector(connector: str, config: Mapping[str, str] | None) -> Iterator[Item]:
    """Yield a row for each setting by which a flow's connector would change the standby as well.

    :param config: the connector's configuration; ``None`` where there is no such connector
    """
    for key in _SYNCS if config else ():
        found = (config or {}).get(key)
        if found != _OFF:
            reason = (
                f"the connector {connector} does not say {key}=false, so two would change the standby: run dr_flows"
            )
            yield Item(
                ItemKind.CONNECTOR, connector, key, _OFF, found or "not set", ItemVerdict.NEVER, reason, blocks=True
            )


def unknown_connector(connector: str, reason: str) -> Item:
    """Return the row of a connector whose configuration could not be read."""
    said = f"nobody knows whether MirrorMaker changes the standby as well: {reason}"
    return Item(ItemKind.CONNECTOR, connector, "", None, None, ItemVerdict.UNKNOWN, said, blocks=True)
