"""What is looked at between two runs: flows, canaries, configuration."""
