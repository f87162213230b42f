"""Committed offsets of the source, translated to offsets of the target: by facts, by content, by the owners' choice."""
