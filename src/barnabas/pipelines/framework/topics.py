"""The topics of a pipeline before it starts: what it reads must be there, what it writes is made.

A missing input is an error and not something to make silently: most often the name or the cluster is wrong. With
`--generate` the pipeline brings its own data, so then its inputs are made too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.pipeline import Pipeline, Topic
from barnabas.pipelines.nearest import nearest

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin

ADMIN_SETTINGS = {"client.id": "barnabas-pipeline"}


def open_admin(bootstrap: str) -> Admin:
    from barnabas.client.admin.admin import Admin

    return Admin(bootstrap, config=ADMIN_SETTINGS)


def prepare(bootstrap: str, pipeline: Pipeline, rename: Callable[[str], str], *, make_inputs: bool, now: bool) -> str:
    """Check and make what is needed. Returns the cluster's id."""
    with open_admin(bootstrap) as admin:
        cluster_id = admin.cluster().cluster_id or "unknown"
        there = {each.name for each in admin.topics()}
        for topic in pipeline.reads:
            name = rename(topic.name)
            if name in there or not (topic.streamed or not now or make_inputs):
                continue
            if not make_inputs:
                raise missing(topic.name, name, there, generates=now and pipeline.has("generate"))
            create(admin, topic, name)
        if now:
            for topic in pipeline.writes:
                if rename(topic.name) not in there:
                    create(admin, topic, rename(topic.name))
            for topic in pipeline.reads:
                name = rename(topic.dead_letter)
                if topic.streamed and topic.schema is not None and name not in there:
                    create(admin, Topic(name, partitions=1), name)
    return cluster_id


def create(admin: Admin, topic: Topic, name: str) -> None:
    from barnabas.client.errors import TopicExists

    with suppress(TopicExists):
        admin.create_topic(name, partitions=topic.partitions, configs=topic.configs)


def missing(usual: str, name: str, there: Iterable[str], *, generates: bool) -> PipelineError:
    """`usual` is the pipeline's own name for the topic, `name` what it is called in this run."""
    near = nearest(name, (each for each in there if not each.startswith("__")))
    hint = f"Did you mean --topic {usual}={near}?" if near else f"Create it: barnabas topic create {name}."
    data = " Or bring believable data with --generate 200" if generates else ""
    return PipelineError(f"there is no topic {name!r}. {hint}{data}")
