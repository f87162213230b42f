"""Flows: replication of a protection group from its active cluster to a standby."""
