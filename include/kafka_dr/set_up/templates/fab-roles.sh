# Roles of Airflow's FAB auth manager, proposed by python -m kafka_dr init. Run it once where Airflow is configured.
# FAB's own role Viewer is the reader: it sees runs, logs, questions, evidence and the status page, and changes nothing.
# Give it to everybody below, too. These rights hold for all DAGs of this Airflow: if that is too much, give this project
# an Airflow of its own. Whoever may change connections in Airflow can do everything that the operator can.
set -eu
airflow roles create kafka-dr-requester kafka-dr-approver kafka-dr-bot

# A requester begins runs. FAB asks for the right to edit DAGs, too, with which DAGs can be paused.
airflow roles add-perms kafka-dr-requester -r 'DAG Runs' -a can_create
airflow roles add-perms kafka-dr-requester -r DAGs -a can_read can_edit

# An approver answers questions, and only those that name this person or this role: see approvers in topology.yaml.
airflow roles add-perms kafka-dr-approver -r 'HITL Detail' DAGs -a can_read can_edit
airflow roles add-perms kafka-dr-approver -r 'HITL Detail' -a menu_access

# The bot is the login of connection kafka_dr_airflow_api: it reads answers, approvers and the pool, and writes notes.
airflow roles add-perms kafka-dr-bot -r 'DAG Runs' DAGs -a can_read can_edit
airflow roles add-perms kafka-dr-bot -r 'HITL Detail' 'Task Instances' Pools -a can_read

# Then, for each person:
#   airflow users add-role --username NAME --role Viewer
#   airflow users add-role --username NAME --role kafka-dr-approver
# And for the bot, which asks for its password:
#   airflow users create --username kafka-dr-bot --role kafka-dr-bot --firstname Kafka --lastname DR \
#     --email kafka-dr-bot@example.com
