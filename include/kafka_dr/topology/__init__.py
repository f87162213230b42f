"""The declared world, read from one YAML file; all its mistakes are reported at once, each with its line."""
