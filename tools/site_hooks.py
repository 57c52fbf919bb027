"""Hooks of mkdocs (mkdocs.yml): the pages at the top of the repository become pages of the site, the README its first.

Their links are written for the repository. Here they lead to the site's pages, and what is no page (a source file) is
named without a link.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=for_site((ROOT / name).read_text())))
    return files


def on_page_markdown(markdown: str, page: object, config: MkDocsConfig, files: Files) -> str:
    """Pages of docs/ may name those at the top as well."""
    return for_site(markdown, at_the_top=False) if "](../" in markdown else markdown


def for_site(text: str, *, at_the_top: bool = True) -> str:
    """`at_the_top`: of a page there; in docs/ a README.md without a folder is the one beside the page."""

    def lead(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target:
            return found[0]
        target = os.path.normpath(target) if target.startswith("docs/") else target
        is_there = at_the_top or target.startswith("../")
        inside = (PAGES.get(target.removeprefix("../")) if is_there else None) or target.removeprefix("docs/")
        return f"[{words}]({inside}{anchor})" if inside.endswith((".md", ".svg")) else words

    return LINK.sub(lead, text.replace("](docs/images/", "](images/"))
