"""`barnabas version`: what runs here, for a report of a bug."""

from barnabas.cli.common.options import AsJson
from barnabas.cli.common.screen import emit_json, facts


def version(as_json: AsJson = False) -> None:
    """Show the versions of Barnabas and its dependencies.

    \b
    Example:
      barnabas version
      barnabas version --json
    """
    import platform
    from importlib import metadata

    found = {"barnabas": metadata.version("barnabas"), "python": platform.python_version()}
    for package in ("uvloop", "confluent-kafka", "msgspec", "cramjam", "typer"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    found["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    if as_json:
        emit_json(found)
    else:
        facts(found.items())
