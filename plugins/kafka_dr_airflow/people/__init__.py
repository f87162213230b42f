"""Who Airflow's auth manager knows: names and roles of the topology become people with ids."""
