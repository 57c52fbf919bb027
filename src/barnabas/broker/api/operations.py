"""What a client may do, as bits by Kafka's numbers of operations: without access control, everything there is."""

NO_OPERATIONS = -(2**31)  # "not asked for"
TOPIC_OPERATIONS = 3576
CLUSTER_OPERATIONS = 8096
GROUP_OPERATIONS = 3400
