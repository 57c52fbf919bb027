"""What each page of the browser asks for: one module a page, each with its table of routes."""

from barnabas.console.pages import (
    access,
    clients,
    cluster,
    cluster_changes,
    clusters,
    groups,
    messages,
    overview,
    pipelines,
    schemas,
    search,
    sending,
    topic_changes,
    topics,
    transactions,
)
from barnabas.console.web.calls import Route

ROUTES: list[Route] = [
    *overview.ROUTES,
    *topics.ROUTES,
    *topic_changes.ROUTES,
    *messages.ROUTES,
    *sending.ROUTES,
    *search.ROUTES,
    *groups.ROUTES,
    *schemas.ROUTES,
    *transactions.ROUTES,
    *pipelines.ROUTES,
    *clients.ROUTES,
    *cluster.ROUTES,
    *cluster_changes.ROUTES,
    *clusters.ROUTES,
    *access.ROUTES,
]
