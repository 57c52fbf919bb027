"""UpdateFeatures (57), versions 0-2: raise or lower the feature levels of the cluster, all of a request or none
(KIP-584).

v0 has a flag for downgrades, v1 a kind of update and a dry run; up to v1 the answer has a line for each feature.

Versions: 1 the kind of update and a dry run (KIP-778), 2 no line for each feature (KIP-1022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster import FeatureUpdate
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.features import SAFE_DOWNGRADE, UPGRADE
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import UpdateFeaturesRequest, UpdateFeaturesResponseBody

# Kafka's words, which kafka-features prints.
_NONE_OF_THEM = "The update failed for all features since the following feature had an error: "


async def handle(
    node: ControllerNode, request: UpdateFeaturesRequest, context: RequestContext
) -> UpdateFeaturesResponseBody:
    old = context.api_version == 0
    updates = [
        FeatureUpdate(
            update.feature,
            update.max_version_level,
            (SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE) if old else update.upgrade_type,
        )
        for update in request.feature_updates
    ]
    try:
        names = await node.controller.submit(Controller.update_features, updates, not old and request.validate_only)
    except KafkaError as error:
        start = _NONE_OF_THEM if error.code is ErrorCode.INVALID_UPDATE_VERSION else ""
        return {"error_code": int(error.code), "error_message": start + error.message, "results": []}
    return {
        "error_code": 0,
        "error_message": None,
        "results": [{"feature": name, "error_code": 0, "error_message": "NONE"} for name in names],
    }
