"""How a command logs in at a secured node of a test."""

from pathlib import Path

from barnabas.cli.secure.bundle import FOLDER, client_properties
from barnabas.cli.secure.files import CA_CERTIFICATE, write_secret
from barnabas.testing import RunningNode


def profile(node: RunningNode, user: str, folder: Path) -> Path:
    """A client.properties of the user."""
    path = folder / f"{user}.properties"
    password = node.login(user)["sasl.password"]
    write_secret(path, client_properties(user, password, node.data_dir / FOLDER / CA_CERTIFICATE).encode())
    return path
