"""Write src/barnabas/wire/schema/metadata/*.json: Kafka's own metadata records (KIP-631) as plain data.

The schemas are constants of the classes in Kafka's jar kafka-metadata, which tools/setup_tests.sh fetches into
.kafka/libs; a small Java program beside this file prints them. The files are of the same kind as those of the APIs
(tools/schema_from_kio.py explains their fields), each with the record's type as `key`.

    .venv/bin/python tools/metadata_schemas.py [DIRECTORY]
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "src" / "barnabas" / "wire" / "schema" / "metadata"
TYPES = {"boolean": "bool", "string": "string", "bytes": "bytes"}
# Tagged fields that Kafka does not have. Kafka's tools pass over them.
OUR_FIELDS = {"user_scram_credential_record": {"name": "source_cluster_id", "type": "string", "tag": 10_000}}
ZEROS: dict[str, Any] = {"string": "", "bytes": "", "uuid": "", "bool": False}


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.mkdir(parents=True, exist_ok=True)
    for name, text in all_files().items():
        (target / name).write_text(text)


def all_files() -> dict[str, str]:
    command = ["java", "-cp", str(HERE.parent / ".kafka" / "libs" / "*"), str(HERE / "MetadataSchemas.java")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    files = {}
    names: dict[int, str] = {}
    for line in printed.splitlines():
        record = json.loads(line)
        name = names[record["key"]] = record["name"].lower()
        ranges: list[dict[str, Any]] = []
        for version in record["versions"]:
            fields = [field_of(field) for field in version["fields"]]
            fields += [OUR_FIELDS[name]] if name in OUR_FIELDS else []
            if ranges and ranges[-1]["fields"] == fields:
                ranges[-1]["last"] = version["version"]
            else:
                first = version["version"]
                ranges.append({"first": first, "last": first, "flexible": True, "fields": fields})
        files[f"{name}.json"] = as_text({"name": name, "key": record["key"], "data": ranges})
    files["index.json"] = as_text({"records": {str(key): name for key, name in sorted(names.items())}})
    return files


def as_text(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":")) + "\n"


def field_of(field: dict[str, Any]) -> dict[str, Any]:
    kind = field["type"].lower().removeprefix("compact_").removeprefix("nullable_")
    result: dict[str, Any] = {"name": field["name"], "type": TYPES.get(kind, kind)}
    if field.get("array"):
        result["array"] = True
    if field["nullable"]:
        result["nullable"] = True
    if "tag" in field:
        result["tag"] = field["tag"]
    if "default" in field:
        default = field["default"]
        zero = ZEROS.get(result["type"], 0)
        if default is None or (not field.get("array") and kind != "struct" and default != zero):
            result["default"] = default
    if kind == "struct":
        result["struct"] = "".join(part.capitalize() for part in field["name"].split("_")).removesuffix("s")
        result["fields"] = [field_of(inner) for inner in field["fields"]]
    return result


if __name__ == "__main__":
    main()
