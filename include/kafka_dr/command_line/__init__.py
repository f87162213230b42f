"""The commands that need no Airflow: ``python -m kafka_dr``."""
