"""Settings of a client-metrics subscription (KIP-714). core/telemetry says what follows from them."""

from barnabas.model.settings.kinds import ResourceType, Setting, UpdateMode
from barnabas.model.settings.rows import INT, LIST
from barnabas.model.settings.valid import between

_SCOPE, _MODE = ResourceType.CLIENT_METRICS, UpdateMode.CLUSTER_WIDE

ROWS = (
    Setting(
        "interval.ms",
        INT,
        300_000,
        "How often the clients that match push their metrics.",
        between(100, 3_600_000),
        _SCOPE,
        _MODE,
    ),
    Setting(
        "match",
        LIST,
        (),
        "Which clients: key=pattern, of keys such as client_id or client_software_name.",
        None,
        _SCOPE,
        _MODE,
    ),
    Setting("metrics", LIST, (), "Which metrics: prefixes of their names.", None, _SCOPE, _MODE),
)
