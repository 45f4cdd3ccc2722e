from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from datastore_search.guards.slots import Slots


def test_no_more_slots_are_taken_than_the_limit_allows() -> None:
    slots = Slots(lambda: 3)

    with ThreadPoolExecutor(8) as threads:
        acquired = list(threads.map(lambda _number: slots.acquire(), range(20)))

    assert acquired.count(True) == 3


def test_a_released_slot_can_be_acquired_again() -> None:
    slots = Slots(lambda: 1)
    assert slots.acquire()
    assert not slots.acquire()

    slots.release()

    assert slots.acquire()


def test_the_limit_is_read_at_each_use() -> None:
    limits = [0]
    slots = Slots(lambda: limits[0])
    assert not slots.acquire()

    limits[0] = 1

    assert slots.acquire()


def test_a_free_slot_is_seen_without_taking_it() -> None:
    slots = Slots(lambda: 1)
    assert slots.has_free()
    assert slots.acquire()

    assert not slots.has_free()
