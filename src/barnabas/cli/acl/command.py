"""`barnabas acl`: who may do what. Rules are added, listed, removed, and asked: would this be allowed, and why?

A rule allows or denies a user operations on a resource. Without a rule nobody may do anything but super users; a rule
that denies wins over all that allow. See docs/security.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.acl.resources import check_rules, operations_of, principal_of, resource_of, rules_for, shown
from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.screen import Column, emit_json, outcome, say, table
from barnabas.operate.access.resources import of_consumer, of_group, of_producer, of_transactions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from barnabas.cli.acl.cluster import Rules
    from barnabas.model.access_rules import Acl

app = typer.Typer(help="Say who may do what: add, list, remove and check access rules (ACLs).", no_args_is_help=True)

_RESOURCE_HELP = "topic:, group:, transactional-id:, user: or delegation-token:NAME (NAME* is a prefix), cluster."
User = Annotated[str, typer.Argument(metavar="USER", help="alice, User:alice, or '*' for everybody.")]
Operations = Annotated[
    str, typer.Argument(metavar="OPERATION", help="read, write, create, describe ...; several with commas; all.")
]
Resource = Annotated[
    str,
    typer.Argument(metavar="RESOURCE", help=_RESOURCE_HELP),
]
MaybeOperations = Annotated[
    str | None,
    typer.Argument(metavar="[OPERATION]", help="read, write, create, describe ...; several with commas; all."),
]
MaybeResource = Annotated[
    str | None,
    typer.Argument(metavar="[RESOURCE]", help=_RESOURCE_HELP),
]
ProducerOf = Annotated[
    list[str] | None, typer.Option("--producer", metavar="TOPIC", help="All that a producer to this topic needs.")
]
ConsumerOf = Annotated[
    list[str] | None,
    typer.Option("--consumer", metavar="TOPIC", help="All that a consumer of this topic needs, with --group."),
]
GroupOf = Annotated[str | None, typer.Option("--group", metavar="GROUP", help="The group of --consumer.")]
Transactional = Annotated[
    str | None,
    typer.Option("--transactional", metavar="ID", help="All that a transactional producer with this id needs."),
]
Deny = Annotated[bool, typer.Option("--deny", help="Rules that deny, which win over those that allow.")]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Only from this address.")]


def _cluster(bootstrap: str) -> AbstractContextManager[Rules]:
    from barnabas.cli.acl.cluster import rules_of

    return rules_of(bootstrap)


def _rules(
    user: str,
    operations: str | None,
    resource: str | None,
    producer: list[str] | None,
    consumer: list[str] | None,
    group: str | None,
    transactional: str | None,
    permission: str,
    host: str,
) -> list[Acl]:
    wanted: list[tuple[str, str]] = []
    if (operations is None) != (resource is None):
        raise usage("an operation goes with a resource", "Write both: barnabas acl add alice read topic:orders")
    if operations is not None and resource is not None:
        wanted += [(resource, operation) for operation in operations_of(operations)]
    if consumer and group is None:
        raise usage("--consumer needs --group", "Say which group it reads in: --group billing")
    for topic in producer or ():
        wanted += of_producer(topic)
    for topic in consumer or ():
        wanted += of_consumer(topic)
    if group is not None:
        wanted += of_group(group)
    if transactional is not None:
        wanted += of_transactions(transactional)
    if not wanted:
        raise usage("nothing to allow or deny", "Name an operation and a resource, or --producer TOPIC.")
    return rules_for(user, wanted, permission, host)


@app.command("add")
def add(
    user: User,
    operation: MaybeOperations = None,
    resource: MaybeResource = None,
    producer: ProducerOf = None,
    consumer: ConsumerOf = None,
    group: GroupOf = None,
    transactional: Transactional = None,
    deny: Deny = False,
    host: Host = "*",
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Allow a user something, or deny it.

    \b
    Example:
      barnabas acl add alice read,write topic:orders
      barnabas acl add alice --producer orders --transactional billing-1
      barnabas acl add bob --consumer orders --group billing
      barnabas acl add bob all 'topic:team-b.*' --host 127.0.0.1
      barnabas acl add '*' write topic:orders --deny
      barnabas acl add carol create-tokens user:alice
    """
    permission = "deny" if deny else "allow"
    rules = _rules(user, operation, resource, producer, consumer, group, transactional, permission, host)
    check_rules(rules)
    with _cluster(bootstrap) as cluster:
        cluster.add(rules)
    outcome(as_json, rules, f"added {human.plural(len(rules), 'rule')} for {principal_of(user)}")


@app.command("list")
def list_rules(
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="USER", help="Only rules that name this user.")
    ] = None,
    resource: Annotated[
        str | None,
        typer.Option("--resource", "-r", metavar="RESOURCE", help="Only rules that are about this resource."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List the rules.

    \b
    Example:
      barnabas acl list
      barnabas acl list --user alice
      barnabas acl list --resource topic:orders --json
    """
    from barnabas.model.access_rules import AclFilter

    principal = None if user is None else principal_of(user)
    wanted = AclFilter(principal=principal)
    if resource is not None:
        kind, name, pattern = resource_of(resource)
        wanted = AclFilter(kind, name, "match" if pattern == "literal" else pattern, principal)
    with _cluster(bootstrap) as cluster:
        rules = cluster.find(wanted)
    if as_json:
        emit_json(rules)
    elif not rules:
        say("no such rules. Add one: barnabas acl add USER read topic:NAME")
    else:
        _show(rules)


def _show(rules: list[Acl]) -> None:
    columns = (
        Column("resource", flexible=True, style="bold"), Column("principal", flexible=True), Column("may"),
        Column("operation"), Column("from"),
    )  # fmt: skip
    table(columns, ([shown(rule), rule.principal, rule.permission, rule.operation, rule.host] for rule in rules))


@app.command("remove")
def remove(
    user: User,
    operation: MaybeOperations = None,
    resource: MaybeResource = None,
    producer: ProducerOf = None,
    consumer: ConsumerOf = None,
    group: GroupOf = None,
    transactional: Transactional = None,
    deny: Deny = False,
    host: Host = "*",
    everything: Annotated[bool, typer.Option("--all", help="Every rule that names the user.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Remove rules of a user, as they were added; or all of them.

    \b
    Example:
      barnabas acl remove alice write topic:orders --yes
      barnabas acl remove bob --all --yes
    """
    from barnabas.model.access_rules import AclFilter, filter_of

    principal = principal_of(user)
    if everything:
        filters = [AclFilter(principal=principal)]
    else:
        permission = "deny" if deny else "allow"
        rules = _rules(user, operation, resource, producer, consumer, group, transactional, permission, host)
        filters = [filter_of(rule) for rule in rules]
    with _cluster(bootstrap) as cluster:
        found = [rule for each in filters for rule in cluster.find(each)]
        if not found:
            raise Failure(f"{principal} has no such rule", f"See what there is: barnabas acl list --user {user}")
        confirm(f"Remove {human.plural(len(found), 'rule')} of {principal}?", yes)
        removed = cluster.delete(filters)
    outcome(as_json, removed, f"removed {human.plural(len(removed), 'rule')} of {principal}")


@app.command("check")
def check(
    user: User,
    operation: Operations,
    resource: Resource,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="From which address.")] = "127.0.0.1",
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Say whether something would be allowed, and which rule decides. Exit code 1: it would not be.

    \b
    Example:
      barnabas acl check alice read topic:orders
      barnabas acl check bob read group:billing --host 127.0.0.1 --json
    """
    from barnabas.cli.acl.decision import Asked, checked, decide

    names = operations_of(operation)
    if len(names) != 1:
        raise usage("one operation at a time", "Ask for one, such as read.")
    kind, name, pattern = resource_of(resource)
    if pattern == "prefixed":
        raise usage(f"{resource!r} is many resources", "Ask for one by its whole name.")
    asked = Asked(principal_of(user), host, names[0], kind, name)
    checked(asked)
    with _cluster(bootstrap) as cluster:
        decision = decide(cluster, asked)
    outcome(as_json, decision, f"{'allowed' if decision.allowed else 'not allowed'}: {decision.told()}")
    if not decision.allowed:
        raise typer.Exit(1)
