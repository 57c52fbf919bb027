"""`barnabas up --secure`: what it adds to the settings, and what it does once the node is up."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.screen import paint, say
from barnabas.cli.secure import bundle
from barnabas.cli.up.options import UpOptions
from barnabas.wire.apis import ALTER_USER_SCRAM_CREDENTIALS

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.model.settings import Settings

_WITH = "Leave out --secure and set ssl.* and sasl.* there, as for Kafka."


def secured(options: UpOptions, plain: Settings) -> dict[str, str]:
    """The settings of a secured node; its certificate and the admin are made where they are missing."""
    listeners = plain.client_listeners()
    if any(listener.protocol != "SASL_SSL" for listener in (*listeners, *plain.controller_listeners())):
        raise usage("--secure, but the settings have listeners of their own", _WITH)
    folder, name = _folder(options, Path(plain.data_directories()[0])), _name(plain)
    hosts = [each.host for each in (*listeners, *plain.advertised_listeners())]
    try:
        bundle.ensure(folder, name, hosts)
    except OSError as error:
        raise Failure(f"cannot keep certificates in {folder}: {error.strerror}") from None
    return {**bundle.settings(folder, name), "audit.enable": "true"}


def _folder(options: UpOptions, data: Path) -> Path:
    return data / bundle.FOLDER if options.bundle is None else Path(options.bundle).expanduser()


def _name(settings: Settings) -> str:
    number = settings.int("node.id")
    return f"node-{number if number >= 0 else 1}"


async def make_admin(node: Node, options: UpOptions) -> None:
    """In a cluster that has none yet; then the commands of this user find the admin's credentials by the address."""
    folder = _folder(options, node.data_dir)
    credential = bundle.admin_credential(folder)
    if credential is not None and not node.image.scram:  # a new cluster: one that was deleted does not come back
        body = {"deletions": [], "upsertions": [credential]}
        await node.controller.ask(ALTER_USER_SCRAM_CREDENTIALS, 0, body)
    bundle.remember(folder, [node.bootstrap])


def tell(bootstrap: str, options: UpOptions, data: Path) -> None:
    """How each kind of client connects, to be pasted: what explains a line is a comment in it."""
    folder = _folder(options, data)
    properties = folder / bundle.ADMIN_PROPERTIES
    say(f"{paint('secured', 'green')}: TLS, logins by SCRAM, access denied unless a rule allows it")
    if not properties.exists():  # a bundle of `secure node`, which has certificates only
        made = f"{bundle.ADMIN_PROPERTIES} of barnabas secure init, named in BARNABAS_PROFILE"
        say(f"{paint('admin', 'dim')}     logs in by {made}")
        say()
        return
    say(f"{paint('admin', 'dim')}     {properties}  {paint('(user and password; for its owner only)', 'dim')}")
    say()
    for name, line, remark in _lines(bootstrap, shlex.quote(str(properties)), folder / bundle.ADMIN_LIBRDKAFKA):
        comment = f"   {paint(f'# {remark}', 'dim')}" if remark else ""
        say(f"  {paint(f'{name:8}', 'dim')}{line}{comment}")
    say()


def _lines(bootstrap: str, properties: str, librdkafka: Path) -> list[tuple[str, str, str]]:
    """(client, line, remark)."""
    source = f'spark.read.format("barnabas").option("kafka.bootstrap.servers", "{bootstrap}")'
    return [
        ("CLI", f"barnabas topic list -b {bootstrap}", "finds the admin by itself"),
        ("Python", f'from barnabas import Producer; Producer(bootstrap="{bootstrap}")', "so does the library"),
        ("Spark", f'{source}.option("subscribe", "TOPIC").load()', "and so does Spark"),
        ("Java", f"kafka-topics.sh --bootstrap-server {bootstrap} --command-config {properties} --list", ""),
        ("kcat", f"kcat -b {bootstrap} -F {shlex.quote(str(librdkafka))} -L", ""),
        ("audit", f"barnabas audit -b {bootstrap} --denied", "who was refused what"),
        ("a user", f"barnabas user create alice -b {bootstrap}", ""),
    ]
