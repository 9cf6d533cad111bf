"""Whether an unknown predicate may hold several values, by its name."""

from __future__ import annotations

import pytest

from memory_service.domain.plurality import may_hold_several


@pytest.mark.parametrize(
    "name", ["hobby", "hobbies", "speaks", "plays", "favourite_books", "best_friend", "爱好", "喜欢", "likes"]
)
def test_people_have_several_of_these(name: str):
    assert may_hold_several(name)


@pytest.mark.parametrize(
    "name", ["team", "extension", "means", "status", "home_address", "default_browser", "上司", "leader", "bus"]
)
def test_a_thing_has_one_of_these_at_a_time(name: str):
    assert not may_hold_several(name)
