"""Every link of the documentation leads somewhere."""

from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, anchors, links, name_of, pages

ELSEWHERE = ("http://", "https://", "mailto:")


@pytest.mark.requirement("docs.true")
@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_and_anchors_resolve(page: Path) -> None:
    broken = [
        link
        for link in links(page)
        if not link.startswith(ELSEWHERE) and leads_to_nothing(page, link)
    ]
    assert broken == []


def leads_to_nothing(page: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    target = (page.parent / place).resolve() if place else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return True
    return bool(anchor) and anchor not in anchors(target)
