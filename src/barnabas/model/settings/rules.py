"""Rules between a node's settings, checked before it starts, as Kafka does: each value may be fine by itself.

What is accepted at the start must not fail later, at the first client that needs it.
"""

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.effective import Settings
from barnabas.model.settings.kinds import ConfigSource

_IN_ORDER = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"),
    ("group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"),
)


def check_rules(settings: Settings) -> None:
    """KafkaError(INVALID_CONFIG) with one line for the first rule that is broken."""
    for low, high in _IN_ORDER:
        if settings.int(low) > settings.int(high):
            raise _bad(f"{low}={settings.int(low)} is above {high}={settings.int(high)}")
    beat, session = "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"
    if settings.int(beat) >= settings.int(session):
        raise _bad(f"{beat}={settings.int(beat)} must be below {session}={settings.int(session)}")
    name = settings["inter.broker.listener.name"]
    names = {listener.name for listener in settings.client_listeners()}
    if name and names and str(name).upper() not in names:
        raise _bad(f"inter.broker.listener.name={name} is not a listener of this node: {', '.join(sorted(names))}")
    protocol = "security.inter.broker.protocol"
    if not name and names and settings.source(protocol) is not ConfigSource.DEFAULT and settings[protocol] not in names:
        raise _bad(
            f"{protocol}={settings[protocol]}: no listener of this node has that name: {', '.join(sorted(names))}"
        )


def _bad(text: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, text)
