"""The types of wire/schema/leader_change_message.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class LeaderChangeMessageVoter(Struct, kw_only=True):
    voter_id: int = ...
    voter_directory_id: bytes = ...

class LeaderChangeMessageVoterBody(TypedDict, total=False):
    voter_id: int
    voter_directory_id: bytes

class LeaderChangeMessage(Struct, kw_only=True):
    version: int = ...
    leader_id: int = ...
    voters: list[LeaderChangeMessageVoter] = ...
    granting_voters: list[LeaderChangeMessageVoter] = ...

class LeaderChangeMessageBody(TypedDict, total=False):
    version: int
    leader_id: int
    voters: Sequence[LeaderChangeMessageVoterBody]
    granting_voters: Sequence[LeaderChangeMessageVoterBody]
