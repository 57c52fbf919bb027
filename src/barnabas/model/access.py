"""The nouns of access control, by Kafka's numbers: what may be done (operations) to what (resources).

A rule (an ACL) allows or denies a principal an operation on a resource; core/access decides by them.
"""

from enum import IntEnum

CLUSTER_NAME = "kafka-cluster"  # the one resource of the type CLUSTER
WILDCARD = "*"  # a LITERAL rule of this name is for every resource of its type; a host of this name is any host
EVERY_PRINCIPAL = "User:*"


class AclOperation(IntEnum):
    UNKNOWN = 0
    ANY = 1  # in a filter
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9  # what nodes say to each other
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1  # in a filter
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1  # in a filter: rules of exactly this name, of whatever type
    MATCH = 2  # in a filter: rules that are about a resource of this name
    LITERAL = 3
    PREFIXED = 4


class AclPermission(IntEnum):
    UNKNOWN = 0
    ANY = 1  # in a filter
    DENY = 2
    ALLOW = 3


_OP = AclOperation
OPERATIONS: dict[AclResourceType, tuple[AclOperation, ...]] = {
    AclResourceType.TOPIC: (
        _OP.READ,
        _OP.WRITE,
        _OP.CREATE,
        _OP.DESCRIBE,
        _OP.DELETE,
        _OP.ALTER,
        _OP.DESCRIBE_CONFIGS,
        _OP.ALTER_CONFIGS,
    ),
    AclResourceType.GROUP: (_OP.READ, _OP.DESCRIBE, _OP.DELETE, _OP.DESCRIBE_CONFIGS, _OP.ALTER_CONFIGS),
    AclResourceType.CLUSTER: (
        _OP.CREATE,
        _OP.CLUSTER_ACTION,
        _OP.DESCRIBE_CONFIGS,
        _OP.ALTER_CONFIGS,
        _OP.IDEMPOTENT_WRITE,
        _OP.ALTER,
        _OP.DESCRIBE,
    ),
    AclResourceType.TRANSACTIONAL_ID: (_OP.DESCRIBE, _OP.WRITE, _OP.TWO_PHASE_COMMIT),
    AclResourceType.DELEGATION_TOKEN: (_OP.DESCRIBE,),
    AclResourceType.USER: (_OP.CREATE_TOKENS, _OP.DESCRIBE_TOKENS),
}
"""What can be done to a resource of each type."""
