"""ApiVersions (18), versions 0-4: what this node speaks, and the feature levels the cluster has settled on.

The first question of every client. v3 adds features and the client's name and version, which must look like one. Up
to v3 a feature whose lowest level is 0 is left out of the supported ones, because older clients choke on it
(KAFKA-17492). A version nobody knows is answered in version 0 with UNSUPPORTED_VERSION and the versions of this one
API, so that any client can go on (KIP-511). A listener of the controllers names what a controller answers. The APIs of
telemetry are named where the node receives it: a client that sees them asks what it is to push. A broker that is cut
off answers after a second (controller/doubted_leaders.py).

Versions: 1 throttle time, 2 throttling by the client (KIP-219), 3 flexible, features (KIP-584) and the client's
software (KIP-511), 4 features whose lowest level is 0.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from barnabas.broker.controller.contact import CUT_OFF_PAUSE_SECONDS
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.core.cluster import MetadataImage
from barnabas.core.cluster.features import SUPPORTED
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import API_VERSIONS, SERVED
from barnabas.wire.codec import encode_response

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ListenersNode
    from barnabas.wire.messages import ApiVersionBody, ApiVersionsRequest, ApiVersionsResponseBody

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_answers: WeakKeyDictionary[ListenersNode, tuple[MetadataImage, dict[tuple[int, bool], bytes]]] = WeakKeyDictionary()


def handle(
    node: ListenersNode, request: ApiVersionsRequest, context: RequestContext
) -> Answered[ApiVersionsResponseBody | bytes]:
    if node.has_broker and node.lifecycle.is_cut_off:
        return _later(node, request, context)
    return _answer(node, request, context)


async def _later(
    node: ListenersNode, request: ApiVersionsRequest, context: RequestContext
) -> ApiVersionsResponseBody | bytes:
    await asyncio.sleep(CUT_OFF_PAUSE_SECONDS)
    return _answer(node, request, context)


def _answer(
    node: ListenersNode, request: ApiVersionsRequest, context: RequestContext
) -> ApiVersionsResponseBody | bytes:
    version = context.api_version
    if version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return {"error_code": int(ErrorCode.INVALID_REQUEST), "api_keys": []}
    session = context.session
    session.software_name, session.software_version = request.client_software_name, request.client_software_version
    session.client_id = context.client_id or ""
    known = _answers.get(node)
    if known is None or known[0] is not node.image:
        known = _answers[node] = (node.image, {})
    controllers = serves_controllers(node, context)
    body = known[1].get((version, controllers))
    if body is None:
        body = encode_response(API_VERSIONS, version, _body(node, version, controllers))
        known[1][version, controllers] = body
    return body


def serves_controllers(node: ListenersNode, context: RequestContext) -> bool:
    """Is the request on a listener of the controllers, where no broker answers?"""
    return not node.has_broker or (node.quorum_ports is not None and context.session.listener_port in node.quorum_ports)


def unsupported_version_body(node: ListenersNode) -> ApiVersionsResponseBody:
    """For version 0: the code, and which versions of ApiVersions there are."""
    api = SERVED[API_VERSIONS]
    served: ApiVersionBody = {"api_key": api.key, "min_version": api.min_version, "max_version": api.max_version}
    return {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "api_keys": [served]}


def _body(node: ListenersNode, version: int, controllers: bool) -> ApiVersionsResponseBody:
    image, receives = node.image, node.settings.bool("telemetry.receiver.enable")
    return {
        "error_code": 0,
        "api_keys": [
            {"api_key": api.key, "min_version": api.advertised_min_version, "max_version": api.max_version}
            for api in sorted(SERVED.values(), key=lambda api: api.key)
            if (api.by_controllers or api.between_nodes if controllers else not api.between_nodes)
            and (receives or not api.telemetry)
        ],
        "supported_features": [
            {"name": name, "min_version": low, "max_version": high}
            for name, (low, high) in SUPPORTED.items()
            if version >= 4 or low > 0
        ],
        "finalized_features_epoch": image.offset,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, level in image.features.items()
        ],
        "zk_migration_ready": False,
    }
