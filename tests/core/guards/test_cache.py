"""The cache of what was used last: its order, its limits of count and size."""

from __future__ import annotations

from datastore_search.guards.cache import BoundedCache


def test_the_value_used_longest_ago_is_removed_first() -> None:
    cache = BoundedCache[str, int]("test", 2)
    cache.add("a", 1)
    cache.add("b", 2)
    assert cache.get("a") == 1

    cache.add("c", 3)

    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert len(cache) == 2


def test_a_removed_value_is_gone() -> None:
    cache = BoundedCache[str, int]("test", 2)
    cache.add("a", 1)

    cache.remove("a")
    cache.remove("a")

    assert (cache.get("a"), len(cache)) == (None, 0)


def test_the_values_together_are_limited_in_size() -> None:
    cache = BoundedCache[int, bytes]("test", 5_000, max_size=1_000, max_value_size=50, measure=len)
    for number in range(100):
        cache.add(number, b"x" * 40)
    assert len(cache) == 25

    cache.add(100, b"x" * 51)
    assert (cache.get(100), len(cache)) == (None, 25)


def test_a_value_added_again_counts_once() -> None:
    cache = BoundedCache[str, bytes]("test", 5_000, max_size=100, max_value_size=50, measure=len)
    for _time in range(10):
        cache.add("a", b"x" * 40)
    cache.add("b", b"x" * 40)
    assert (cache.get("a"), cache.get("b")) == (b"x" * 40, b"x" * 40)

    cache.clear()
    for key in "cd":
        cache.add(key, b"x" * 40)
    assert len(cache) == 2
