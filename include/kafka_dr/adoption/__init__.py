"""A group's first record, fence and flow; taking over the replication that it has, and releasing it."""
