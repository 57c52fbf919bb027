"""Sensors and devices, by MQTT."""
