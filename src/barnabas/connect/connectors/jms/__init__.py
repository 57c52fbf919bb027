"""Queues and topics of a JMS broker, by STOMP 1.2."""
