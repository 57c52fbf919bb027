"""`barnabas link reverse`: the former source of promoted topics follows this cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from barnabas.cli.common.cluster import Cluster
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.human import plural
from barnabas.cli.common.options import to_paste
from barnabas.cli.link import links, rewinding
from barnabas.model.ids import uuid_text
from barnabas.model.linked_topics import epoch_block_above

if TYPE_CHECKING:
    from barnabas.wire.messages import MetadataResponse, MetadataResponseTopic


class Reversed(TypedDict):
    link: str
    bootstrap: str
    topics: list[str]
    groups_set_back: list[str]  # of the former source, which had read what is cut off there


def reversed_link(cluster: Cluster, name: str, address: str) -> Reversed:
    """`address`: where the former source finds this cluster."""
    stored = links.must_exist(cluster, name)
    if filled := sorted(links.topics_of(cluster, name)):
        raise Failure(
            f"{name} still fills {len(filled)} topics: {', '.join(filled[:5])}",
            f"Promote them first: {to_paste(f'link promote {name}', cluster.bootstrap)}",
        )
    bootstrap = stored["bootstrap.servers"] or ""
    here = cluster.metadata(None)
    with Cluster(bootstrap) as former:
        there = former.metadata(None)
        if name in links.names(former):
            delete = to_paste(f"link delete {name}", bootstrap)
            raise Failure(f"{bootstrap} has a link {name!r} already", f"Delete it: {delete}")
        settings = _given_back(cluster, former, here, there, name)
        mine = {topic.name: topic for topic in here.topics if topic.name in settings and topic.name}
        ends = rewinding.common_ends(cluster, mine, _own_epochs(cluster, mine))
        set_back = rewinding.rewind(former, {t.name: t for t in there.topics if t.name in settings and t.name}, ends)
        definition = {
            "bootstrap.servers": address,
            "source.cluster.id": here.cluster_id or "",
            "topics": ",".join(_quoted(topic) for topic in settings),
            **links.login_settings(address),
        }
        links.alter(former, links.LINK, {name: definition})
        links.alter(former, links.TOPIC, settings)
    links.alter(cluster, links.LINK, {name: dict.fromkeys(stored)})
    return {"link": name, "bootstrap": bootstrap, "topics": sorted(settings), "groups_set_back": set_back}


def in_words(result: Reversed) -> str:
    text = f"{result['link']}: {result['bootstrap']} follows this cluster now, {plural(len(result['topics']), 'topic')}"
    if back := result["groups_set_back"]:
        text += f"; groups set back there to the last common record: {', '.join(back[:5])}"
    return text


def _own_epochs(cluster: Cluster, topics: dict[str, MetadataResponseTopic]) -> dict[str, int]:
    """The leader epochs with which the records begin that were written here after the promotion."""
    stored = links.configs(cluster, links.TOPIC, list(topics))
    return {topic: int(configs.get("link.leader.epoch") or 0) for topic, configs in stored.items()}


def _given_back(
    cluster: Cluster, former: Cluster, here: MetadataResponse, there: MetadataResponse, name: str
) -> dict[str, links.Settings]:
    """The settings that give the former source's topics to its new link."""
    own = {topic.name: topic for topic in here.topics if topic.name and not topic.error_code and not topic.is_internal}
    configs = links.configs(cluster, links.TOPIC, list(own))
    promoted = {topic for topic, c in configs.items() if c.get("link.cluster.id") == there.cluster_id}
    if not promoted:
        raise Failure(
            f"no topic here was promoted from the cluster of {name}, {there.cluster_id}",
            "Only topics that came from there can be given back.",
        )
    settings: dict[str, links.Settings] = {}
    for topic in there.topics:
        if topic.name not in promoted:
            continue
        if uuid_text(topic.topic_id) != configs[topic.name].get("link.topic.id"):
            raise Failure(
                f"topic {topic.name!r} was deleted at {name} and made anew: it is not the one that came over",
                "Delete it there, and make a link to this cluster.",
            )
        mine = own[topic.name]
        if len(mine.partitions) != len(topic.partitions):
            raise Failure(
                f"topic {topic.name!r} has {len(topic.partitions)} partitions there and {len(mine.partitions)} here",
                f"Add partitions: {_growing(cluster, former, mine, topic)}",
            )
        settings[topic.name] = {
            "link.name": name,
            "link.topic.id": uuid_text(mine.topic_id),
            "link.cluster.id": here.cluster_id or "",
            "link.leader.epoch": str(_epoch_above(mine, topic)),
        }
    return settings


def _growing(cluster: Cluster, former: Cluster, mine: MetadataResponseTopic, theirs: MetadataResponseTopic) -> str:
    """The command for the one of both that has fewer."""
    fewer = cluster if len(mine.partitions) < len(theirs.partitions) else former
    most = max(len(mine.partitions), len(theirs.partitions))
    return to_paste(f"topic grow {mine.name} {most}", fewer.bootstrap)


def _epoch_above(*topics: MetadataResponseTopic) -> int:
    newest = max((part.leader_epoch for topic in topics for part in topic.partitions), default=0)
    return epoch_block_above(newest)


def _quoted(topic: str) -> str:
    return topic.replace(".", "\\.")
