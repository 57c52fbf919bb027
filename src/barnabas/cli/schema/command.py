"""`barnabas schema`: the schemas of a registry, for people. Works with Confluent's registry as well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import FAILED, usage
from barnabas.cli.common.options import AsJson, Yes, confirm
from barnabas.cli.common.registry import DEFAULT_REGISTRY, RegistryUrl, connected
from barnabas.cli.common.screen import Column, emit_json, facts, outcome, paint, quoted, say, table

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry
    from barnabas.client.serde.registry.schema import Registered, Schema

app = typer.Typer(help="See, register, compare and delete the schemas of a registry.", no_args_is_help=True)

NO_SUBJECTS, NO_LEVEL = 40401, 40408
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The subject, such as orders-value.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The schema: .avsc, .json (JSON Schema) or .proto.")]
Type = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="avro, json or protobuf, where the name does not say it.")
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that FILE names; may be repeated."),
]


@app.command("list")
def list_schemas(
    prefix: Annotated[str | None, typer.Argument(metavar="PREFIX", help="Only subjects that begin so.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted ones too.")] = False,
    as_json: AsJson = False,
    registry: RegistryUrl = DEFAULT_REGISTRY,
) -> None:
    """List the subjects, each with its newest version.

    \b
    Example:
      barnabas schema list
      barnabas schema list orders- --json
    """
    with connected(registry) as client:
        found = client.newest(prefix, deleted=deleted)
    if as_json:
        emit_json([_told(each, text=False) for each in found])
    elif not found:
        say("no schemas. Register one: barnabas schema register SUBJECT FILE")
    else:
        columns = (
            Column("subject", flexible=True, style="bold"),
            Column("version", right=True),
            Column("id", right=True),
            Column("type"),
        )
        table(columns, ([each.subject, str(each.version), str(each.id), each.schema.type] for each in found))


@app.command("show")
def show(
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT", help="The subject, such as orders-value.")] = None,
    version: Annotated[str, typer.Option("--version", "-v", metavar="N", help="A version, not the newest.")] = "latest",
    number: Annotated[
        int | None, typer.Option("--id", metavar="ID", help="The schema of this id, not a subject.")
    ] = None,
    as_json: AsJson = False,
    registry: RegistryUrl = DEFAULT_REGISTRY,
) -> None:
    """Show a schema: of a subject, or of the id that a record has.

    \b
    Example:
      barnabas schema show orders-value
      barnabas schema show orders-value --version 1 --json
      barnabas schema show --id 1
    """
    if (subject is None) == (number is None):
        raise usage("which schema?", "Say a subject, or --id ID.")
    with connected(registry) as client:
        if number is not None:
            found = _by_id(client, number)
            versions, level = [], ""
        else:
            found = client.version(subject or "", _version(version))
            versions, level = client.versions(found.subject), _level(client, found.subject)
    if as_json:
        emit_json({**_told(found), "versions": versions, "compatibility": level})
        return
    from barnabas.operate.schemas.changes import pretty

    references = ", ".join(f"{each.name} ({each.subject} {each.version})" for each in found.schema.references)
    facts(
        [
            ("subject", found.subject),
            ("version", f"{found.version} of {', '.join(map(str, versions))}" if versions else ""),
            ("id", str(found.id)),
            ("guid", found.guid),
            ("type", found.schema.type),
            ("compatibility", level),
            ("references", references),
        ]
    )
    say()
    for line in pretty(found.schema.type, found.schema.text).split("\n"):
        say(quoted(line))


@app.command("register")
def register(
    subject: Subject,
    file: File,
    kind: Type = None,
    reference: References = None,
    normalize: Annotated[bool, typer.Option("--normalize", help="Store it in its normal form.")] = False,
    as_json: AsJson = False,
    registry: RegistryUrl = DEFAULT_REGISTRY,
) -> None:
    """Register a schema as the newest version of a subject.

    The same schema again gives the same id. One that is not compatible is refused: `schema check` says why.

    \b
    Example:
      barnabas schema register payments-value payment.avsc
    """
    with connected(registry) as client:
        schema = _schema(file, kind, reference)
        made = client.register(subject, schema, normalize=normalize)
        found = made if made.version else client.lookup(subject, schema, normalize=normalize)
    outcome(as_json, _told(found, text=False), f"{subject} version {found.version}, id {found.id}")


@app.command("check")
def check(
    subject: Subject,
    file: File,
    version: Annotated[
        str | None, typer.Option("--version", "-v", metavar="N", help="Only with this version, or latest.")
    ] = None,
    kind: Type = None,
    reference: References = None,
    as_json: AsJson = False,
    registry: RegistryUrl = DEFAULT_REGISTRY,
) -> None:
    """Say whether a schema may be the next version, and if not, why.

    It is compared with the versions that the subject's compatibility level names. Nothing is registered. Exit code 1
    when it is not compatible.

    \b
    Example:
      barnabas schema check payments-value payment.avsc
    """
    from barnabas.client.serde.registry.reasons import reasons

    with connected(registry) as client:
        schema = _schema(file, kind, reference)
        level = _level(client, subject)
        good, messages = client.check(subject, schema, None if version is None else _version(version))
        new = good and version is None and _is_new(client, subject)
    why = reasons(messages)
    if as_json:
        emit_json(
            {"compatible": good, "level": level, "reasons": [each._asdict() for each in why], "messages": messages}
        )
    elif new:
        say(f"{subject} has no versions yet: this would be the first")
    elif good:
        say(f"compatible with {subject} ({level})")
    else:
        say(paint(f"not compatible with {subject} ({level})", "red"))
        for each in why:
            say(f"  {quoted(each.line())}")
        if not why:
            say("  the registry gives no reason")
    if not good:
        raise typer.Exit(FAILED)


@app.command("diff")
def diff(
    subject: Subject,
    old: Annotated[str | None, typer.Argument(metavar="OLD", help="A version; without one the last but one.")] = None,
    new: Annotated[str, typer.Argument(metavar="NEW", help="A version, or a file with a schema.")] = "latest",
    as_json: AsJson = False,
    registry: RegistryUrl = DEFAULT_REGISTRY,
) -> None:
    """Show what changed between two versions, in words and by lines.

    \b
    Example:
      barnabas schema diff orders-value
      barnabas schema diff orders-value 1 2
      barnabas schema diff payments-value latest payment.avsc
    """
    from barnabas.cli.schema.differences import compared, lines

    with connected(registry) as client:
        first, second, words = compared(client, subject, old, new)
    if as_json:
        emit_json({"old": _told(first), "new": _told(second), "changes": words})
        return
    say(paint(f"{subject}: {_named(first)} -> {_named(second)}", "bold"))
    for word in words or [
        "nothing that counts: " + ("the same text" if first.schema == second.schema else "the text only")
    ]:
        say(f"  {quoted(word)}")
    text = lines(first, second)
    if text:
        say()
    for line in text:
        say(paint(quoted(line), "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"))


@app.command("delete")
def delete(
    subject: Subject,
    version: Annotated[str | None, typer.Option("--version", "-v", metavar="N", help="Only this version.")] = None,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="For ever: records with its id cannot be read any more.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    registry: RegistryUrl = DEFAULT_REGISTRY,
) -> None:
    """Delete a subject, or one version of it.

    Records that have the id can still be read, and a schema that is registered again gets it back. With --permanent
    that ends; only what is deleted already can be deleted for ever, so this does both.

    \b
    Example:
      barnabas schema delete views-value --yes
      barnabas schema delete payments-value --version 1 --permanent --yes
    """
    what = f"version {version} of {subject}" if version else f"subject {subject}"
    confirm(f"Delete {what}{' for ever' if permanent else ''}?", yes)
    with connected(registry) as client:
        gone = _deleted(client, subject, version, permanent=False, again=permanent)
        if permanent:
            gone = _deleted(client, subject, version, permanent=True, again=False)
    text = f"{what}: {human.plural(len(gone), 'version')} deleted{' for ever' if permanent else ''}"
    outcome(as_json, {"subject": subject, "versions": gone, "permanent": permanent}, text)


def _deleted(client: Registry, subject: str, version: str | None, *, permanent: bool, again: bool) -> list[int]:
    """`again`: it may be deleted already."""
    from barnabas.client.errors import RegistryError

    try:
        if version is None:
            return client.delete_subject(subject, permanent=permanent)
        return [client.delete_version(subject, _version(version), permanent=permanent)]
    except RegistryError as error:
        if again and error.error_code in (40404, 40406, 40401, 40402):  # deleted; of an older registry: not found
            return []
        raise


def _schema(file: Path, kind: str | None, references: list[str] | None) -> Schema:
    from barnabas.client.serde.registry.plain import schema_of_file
    from barnabas.client.serde.registry.schema import TYPES, Reference

    wanted = None if kind is None else kind.upper().replace("-", "_").removesuffix("_SCHEMA")
    if wanted is not None and wanted not in TYPES:
        raise usage(f"--type {kind!r} is unknown", "Choose from avro, json, protobuf.")
    named = []
    for each in references or ():
        name, _, place = each.rpartition("=")
        subject, _, version = place.rpartition(":")
        if not name or not subject or not version.isdigit():
            raise usage(f"--reference {each!r} is not NAME=SUBJECT:VERSION", "Write it as shop.Money=money-value:1.")
        named.append(Reference(name, subject, int(version)))
    return schema_of_file(file, next((each for each in TYPES if each == wanted), None), tuple(named))


def _version(text: str) -> int | str:
    if text in ("latest", "-1"):
        return "latest"
    if not text.isdigit() or not 0 < int(text) < 1 << 31:
        raise usage(f"{text!r} is not a version", "A version is a number from 1 on, or latest.")
    return int(text)


def _by_id(client: Registry, number: int) -> Registered:
    from barnabas.client.serde.registry.schema import Registered

    return Registered(client.schema(number), number)


def _level(client: Registry, subject: str) -> str:
    from barnabas.client.errors import RegistryError

    try:
        return client.level(subject)
    except RegistryError as error:
        if error.status == 404:  # of registries that know no defaultToGlobal
            return client.level()
        raise


def _is_new(client: Registry, subject: str) -> bool:
    """A misspelled one is compatible with everything."""
    from barnabas.client.errors import RegistryError

    try:
        return not client.versions(subject)
    except RegistryError as error:
        if error.status == 404:
            return True
        raise


def _named(found: Registered) -> str:
    return f"version {found.version} (id {found.id})" if found.version else found.subject


def _told(found: Registered, *, text: bool = True) -> dict[str, object]:
    said: dict[str, object] = {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        "guid": found.guid,
        "type": found.schema.type,
    }
    if text:
        said["schema"] = found.schema.text
        said["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version} for each in found.schema.references
        ]
    return said
