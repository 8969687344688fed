"""Adds to the sections of a page what all pages share: a table of contents, links to a section, and keyboard access.

It reads the page's own HTML, so a template only writes `<section><h2>title</h2>`.
"""

from __future__ import annotations

import re

from markupsafe import Markup

SECTION = re.compile(r"<section([^>]*)>(\s*)<h2>(.*?)</h2>", re.DOTALL)
FEW = 4
"""A page with fewer sections needs no contents."""


def outlined(page: str) -> Markup:
    """Return the sections with an id and a link each, after their list."""
    entries: list[tuple[str, str]] = []

    def linked(found: re.Match[str]) -> str:
        attributes, space, title = found.groups()
        own = re.search(r'id="([^"]+)"', attributes)
        name = own[1] if own else _unused(_slug(title), [known for known, _ in entries])
        entries.append((name, title))
        plain = re.sub("<[^>]+>", "", title)
        link = f'<a class="permalink" href="#{name}" aria-label="Link to {plain}">#</a>'
        named = "" if own else f' id="{name}"'
        return f"<section{attributes}{named}>{space}<h2>{title} {link}</h2>"

    body = SECTION.sub(linked, page)
    # A keyboard scrolls only what has the focus. Empty headings say nothing to a screen reader.
    body = body.replace('<div class="scroll">', '<div class="scroll" role="group" aria-label="Table" tabindex="0">')
    body = body.replace("<pre>", '<pre tabindex="0">').replace("<tr><th></th>", "<tr><td></td>")
    return Markup(_contents(entries) + body)


def _contents(entries: list[tuple[str, str]]) -> str:
    if len(entries) < FEW:
        return ""
    rows = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in entries)
    return f'<nav aria-label="Contents"><details><summary>Contents</summary><ol>{rows}</ol></details></nav>'


def _slug(title: str) -> str:
    return re.sub("[^a-z0-9]+", "-", re.sub("<[^>]+>|&[^;]+;", "", title).lower()).strip("-") or "section"


def _unused(name: str, known: list[str]) -> str:
    return next(each for n in range(len(known) + 1) if (each := f"{name}-{n + 1}" if n else name) not in known)
