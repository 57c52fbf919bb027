"""Settings that ask for access control which this release does not have.

They come in a `server.properties` of a secured Kafka cluster. Passing over them would open a cluster that was locked,
so a node refuses to start with them, in one line that names the setting and its place. A class that decides who may log
in is such a setting, unless it is one that is known by its name.
"""

import re

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.effective import Settings
from barnabas.model.settings.tables import NODE_SETTINGS

HANDLER = "sasl.server.callback.handler.class"
OAUTH_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
VALIDATORS = (
    f"{OAUTH_PACKAGE}.OAuthBearerValidatorCallbackHandler",
    f"{OAUTH_PACKAGE}.secured.OAuthBearerValidatorCallbackHandler",
)
UNSECURED = f"{OAUTH_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"

_CALLBACK = re.compile(r"(?:listener\.name\.(?P<listener>[^.]+)\.(?P<more>[a-z0-9-]+\.)?)?" + re.escape(HANDLER))


def refuse_access_control(settings: Settings) -> None:
    """KafkaError(INVALID_CONFIG) for the first setting that cannot be kept; a default is no request."""
    for name, origin in settings.origins.items():
        if not _names_a_class(settings, name):
            continue
        if name in NODE_SETTINGS and settings[name] == NODE_SETTINGS[name].default:
            continue
        where = f"{origin}: " if origin else ""
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{where}{name} asks for access control, which this release does not have. Started without it, the node "
            "would be open to everybody; remove the setting if that is what you want",
        )


def _names_a_class(settings: Settings, name: str) -> bool:
    """A handler of logins that is not one of OAUTHBEARER's."""
    match = _CALLBACK.fullmatch(name)
    if match is None:
        return False
    value = settings[HANDLER]
    if match["listener"] is not None:
        value = settings.listener_text(match["listener"], f"{match['more'] or ''}{HANDLER}") or ""
    return value not in (*VALIDATORS, UNSECURED) or match["more"] not in (None, "oauthbearer.")
