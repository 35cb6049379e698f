"""Gives the pages of the API reference and of the gallery to MkDocs, which calls these
functions.
"""

import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website import gallery, pages

#: what stands in mkdocs.yml where the reference belongs
PLACE = pages.INDEX


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation gets a part for the reference."""
    config.nav = [_filled(item) for item in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that are made stand beside those that are written."""
    for path, content in (pages.generated() | gallery.generated()).items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """The front page of the gallery shows pictures."""
    return gallery.cards(markdown) if page.file.src_uri == gallery.INDEX else markdown


def on_page_content(html: str, *, page: Page, **_: Any) -> str:
    """MkDocs checks links to anchors; these are all, those of numbered lines too."""
    page.present_anchor_ids = {*re.findall(r'\sid="([^"]+)"', html)}
    return html


def _filled(item: Any) -> Any:
    if isinstance(item, dict) and PLACE in item.values():
        return {title: pages.navigation() for title in item}
    return item
