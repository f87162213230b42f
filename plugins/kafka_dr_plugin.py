"""What Airflow loads of this project by itself."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from kafka_dr_airflow.links import EvidenceLink


class KafkaDrPlugin(AirflowPlugin):
    """Makes the button known that leads from a task to its run's evidence."""

    name = "kafka_dr"
    operator_extra_links = [EvidenceLink()]
