"""`barnabas` with servers that are hidden from it: python hidden_servers.py NAMES WORDS..., the names with commas."""

from __future__ import annotations

import sys
from pathlib import Path

from barnabas.cli.demo.bus.servers import java, mosquitto, postgres
from barnabas.cli.main import main

if __name__ == "__main__":
    names = sys.argv[1].split(",")
    if "java" in names:
        java.JVM_FOLDERS = ()
    if "mosquitto" in names:
        mosquitto.FOLDERS = ()
    if "postgres" in names:
        postgres.DEBIAN = Path("/nowhere")
    sys.exit(main(sys.argv[2:]))
