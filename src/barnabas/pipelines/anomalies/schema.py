"""The columns of the two topics that are read."""

READING = "sensor STRING NOT NULL, seq BIGINT NOT NULL, time TIMESTAMP NOT NULL, value DOUBLE NOT NULL, unit STRING"
INCIDENT = "incident BIGINT, sensor STRING NOT NULL, what STRING, begin TIMESTAMP NOT NULL, end TIMESTAMP NOT NULL"
ALERTS = "sensor-alerts"
