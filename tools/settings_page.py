"""Writes docs/settings.md from the table of settings; with --check it only compares."""

import sys
from pathlib import Path

from barnabas.broker.settings.sources import environment_name
from barnabas.model.settings import GROUP_SETTINGS, NODE_AREAS, TOPIC_SETTINGS, Setting, UpdateMode, value_text

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"

HEAD = """# Settings

This page is made from the table in `src/barnabas/model/settings` by `python tools/settings_page.py`; the same table
answers DescribeConfigs. Names, types, defaults and rules are those of Apache Kafka 4.3.

## Where a value comes from

The first of these that has it:

1. a dynamic setting of this node, then of all nodes (`barnabas config`, `kafka-configs.sh`), kept in the metadata log
2. a flag: `barnabas up --set log.retention.hours=24`
3. the environment: `{variable}=24`
4. the file given with `--config`: TOML (dotted names or tables), or a Kafka `server.properties` as it is
5. the default

A topic's setting is the topic's own, else that of the node behind it (column "falls back to", the first that is set),
else the default. A name nobody knows is a warning that names the nearest known one; a value that does not fit is one
line with the file and the line it stands on.

Settings marked with ○ are accepted, so that files and tools written for Kafka work, but have no effect here.
"""


def page() -> str:
    parts = [HEAD.format(variable=environment_name("log.retention.hours"))]
    parts.append("## Topics\n\n" + _table(list(TOPIC_SETTINGS.values()), falls_back=True))
    parts.append("## Groups\n\n" + _table(list(GROUP_SETTINGS.values()), falls_back=True))
    for area, rows in NODE_AREAS.items():
        parts.append(f"## Nodes: {area.lower() if area != 'TLS' else area}\n\n" + _table(rows))
    return "\n".join(parts)


def _table(rows: "list[Setting] | tuple[Setting, ...]", falls_back: bool = False) -> str:
    third = "falls back to" if falls_back else "changes"
    lines = [f"| setting | default | values | {third} | what it is for |", "|---|---|---|---|---|"]
    lines += [_row(row, falls_back) for row in rows]
    return "\n".join(lines) + "\n"


def _row(row: Setting, falls_back: bool) -> str:
    mark = "" if row.effective else " ○"
    if falls_back:
        third = ", ".join(f"`{name}`" for name in row.synonyms)
    else:
        third = "at start" if row.update_mode is UpdateMode.READ_ONLY else "while running"
    values = row.valid.text if row.valid else row.type.name.lower()
    return f"| `{row.name}`{mark} | {_default(row)} | {values} | {third} | {row.doc} |"


def _default(row: Setting) -> str:
    text = value_text(row.default)
    if text is None:
        return "none"
    return f"`{text}`" if text else "empty"


def main() -> int:
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != page():
            print("docs/settings.md is not what the table says: run python tools/settings_page.py")
            return 1
        return 0
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
