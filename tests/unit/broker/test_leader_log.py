"""A quorum that stays without a leader is told of in the log, an election is not."""

import asyncio

import pytest

from barnabas.broker.quorum.leader_log import LeaderLog
from barnabas.core.raft.effects import RoleChange


def test_a_lost_majority_is_told_until_somebody_leads(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        told = LeaderLog(1, lambda: "a majority of 3 controllers must be up", first_seconds=0.02)
        told.role_changed(RoleChange("unattached", 1, None, False))
        await asyncio.sleep(0.05)
        assert not caplog.messages, "a node that starts says it by itself"
        told.role_changed(RoleChange("follower", 1, 2, False))
        told.role_changed(RoleChange("prospective", 1, None, False))
        told.role_changed(RoleChange("follower", 2, 3, False))
        await asyncio.sleep(0.05)
        assert not [message for message in caplog.messages if "no leader" in message]
        told.role_changed(RoleChange("prospective", 2, None, False))
        told.role_changed(RoleChange("candidate", 3, None, False))
        for _ in range(200):
            lines = [message for message in caplog.messages if "has had no leader for" in message]
            if len(lines) >= 2:
                break
            await asyncio.sleep(0.01)
        assert len(lines) >= 2 and "a majority of 3 controllers must be up" in lines[0]
        told.role_changed(RoleChange("follower", 4, 2, False))
        await asyncio.sleep(0.1)
        assert len([message for message in caplog.messages if "no leader" in message]) == len(lines)

    asyncio.run(test())
