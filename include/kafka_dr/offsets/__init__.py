"""Committed offsets of groups: translated to the target, with how sure each is, and checked when they are set."""
