"""The check that runs every minute: is each cluster what the register record says, above all one that comes back.

Invariants: a missing DENY is added, and none is ever lifted; no register is written of a group that a run is moving; a
cluster that does not answer does not delay the checks of another one.
"""
