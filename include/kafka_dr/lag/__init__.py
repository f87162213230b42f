"""Lag of a flow and of consumer groups: how much they have not read, and whether they keep up. Rules alone."""
