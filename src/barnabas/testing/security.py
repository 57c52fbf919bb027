"""A secured node for a test: certificates, the admin and users, as `barnabas up --secure` makes them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.secure import bundle
from barnabas.cli.secure.files import CA_CERTIFICATE
from barnabas.core.access.sasl.scram import ITERATIONS_MIN, SALT_BYTES, SCRAM, upsertion
from barnabas.wire.apis import ALTER_USER_SCRAM_CREDENTIALS

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_NAME = "node-1"


class Security:
    """`users` are names and passwords; the admin, who may do everything, is one of them."""

    def __init__(self, data_dir: Path, users: Mapping[str, str] | None = None) -> None:
        self._folder = data_dir / bundle.FOLDER
        self.users = {bundle.ADMIN: "admin-secret"} | dict(users or {})

    def settings(self) -> dict[str, str]:
        bundle.ensure(self._folder, _NAME, ["127.0.0.1"])
        return bundle.settings(self._folder, _NAME)

    async def create_users(self, node: Node) -> None:
        upsertions = [
            upsertion(user, password, mechanism, secrets.token_bytes(SALT_BYTES), ITERATIONS_MIN)
            for user, password in self.users.items()
            for mechanism in SCRAM.values()
        ]
        await node.controller.ask(ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": [], "upsertions": upsertions})

    def login(self, user: str) -> dict[str, str]:
        """librdkafka's settings for a client that logs in as this user."""
        if user not in self.users:
            raise ValueError(f"no user {user!r}; there are {', '.join(self.users)}")
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": self.users[user],
            "ssl.ca.location": str(self._folder / CA_CERTIFICATE),
        }
