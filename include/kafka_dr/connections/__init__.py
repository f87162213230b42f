"""Connections in Airflow's format, and what each one becomes; Airflow is not needed to read them."""
