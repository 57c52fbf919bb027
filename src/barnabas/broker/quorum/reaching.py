"""Where another node of the quorum is reached from here.

A voter is known by the listener that it uses among nodes. While the nodes of a cluster change to another listener, one
by one, that may not be the one that this node uses: then it is looked up among those that the node has registered as a
broker, so that each side speaks the protocol of the port it connects to. Answers of the quorum tell an address without
the name of its listener; that is a known address of another listener then. One that is not registered may be newer than
the registration, and is taken as it is.
"""

from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft import Endpoint


def where_reached(
    image: MetadataImage, node_id: int, told: Endpoint, own_listener: str, configured: Endpoint | None = None
) -> Endpoint:
    """`configured`: by `controller.quorum.voters`, for a node that starts and knows no registration yet."""
    if told.name == own_listener:
        return told
    broker = image.brokers.get(node_id)
    if broker is None:
        return configured if configured is not None and told.name else told
    named = {endpoint.name: endpoint for endpoint in broker.endpoints}
    is_other = bool(told.name) or any((each.host, each.port) == told[1:] for each in broker.endpoints)
    if own_listener not in named or not is_other:
        return told
    return Endpoint(own_listener, named[own_listener].host, named[own_listener].port)
