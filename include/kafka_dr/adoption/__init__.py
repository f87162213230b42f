"""A group's first record in the register."""
