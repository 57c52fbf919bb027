"""Settings that ask for access control, which this release does not have.

They come in a `server.properties` of a secured Kafka cluster. Passing over them would open a cluster that was locked,
so a node refuses to start with them, in one line that names the setting and its place.
"""

import re

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.effective import Settings
from barnabas.model.settings.tables import NODE_SETTINGS

_ACCESS_CONTROL = re.compile(
    r"(listener\.name\.[^.]+\.)?([a-z0-9-]+\.)?sasl\.(oauthbearer|kerberos|server\.callback)\..+"
)


def refuse_access_control(settings: Settings) -> None:
    """KafkaError(INVALID_CONFIG) for the first setting that cannot be kept; a default is no request."""
    for name, origin in settings.origins.items():
        if not _ACCESS_CONTROL.fullmatch(name):
            continue
        if name in NODE_SETTINGS and settings[name] == NODE_SETTINGS[name].default:
            continue
        where = f"{origin}: " if origin else ""
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{where}{name} asks for access control, which this release does not have. Started without it, the node "
            "would be open to everybody; remove the setting if that is what you want",
        )
