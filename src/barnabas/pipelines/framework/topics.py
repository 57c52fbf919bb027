"""The topics of a pipeline before it starts: what it reads must be there, what it writes is made.

A missing input is an error and not something to make silently: most often the name or the cluster is wrong. With
`--generate` the pipeline brings its own data, so then its inputs are made too.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.pipeline import Pipeline, Topic

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
                raise missing(name, pipeline.name, sorted(there))
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


def missing(name: str, pipeline: str, there: list[str]) -> PipelineError:
    near = difflib.get_close_matches(name, [each for each in there if not each.startswith("__")], n=1)
    hint = f"Did you mean --topic {name}={near[0]}?" if near else f"Create it: barnabas topic create {name}"
    return PipelineError(f"there is no topic {name!r}. {hint}, or bring believable data with --generate 200")
