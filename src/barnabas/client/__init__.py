"""What a Python user imports: producers, consumers, streams, serializers, the admin, and the errors they raise.

Built on confluent-kafka (librdkafka) and on nothing of the broker: it works with any cluster that speaks Kafka's
protocol. Import from `barnabas` itself; that package loads each name from here when it is first used.
"""
