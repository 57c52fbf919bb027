"""Blocks of producer ids begin anew at every start of the node."""

from barnabas.broker.controller.requests import ControllerRequests
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    async def block(self: ControllerRequests) -> range:
        return range(1000)

    return block


BUG = Bug("producer-ids-reused", "producer ids are given twice", ControllerRequests, "producer_id_block", _make)
