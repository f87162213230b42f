"""Replication that somebody else has set up, and that a take over stops and replaces."""
