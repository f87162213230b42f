"""Readers that need more than a moved offset: how each kind is recognised, and what its owners do on another cluster.

It knows no protection group: what a failover makes of a reader is decided by its verbs. An observed flow and the audits
have the same readers, the same recognition and the same words.
"""
