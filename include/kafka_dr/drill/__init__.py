"""Drills: a real failover of a group that exists only for the drill, on the clusters of a real one, and back."""
