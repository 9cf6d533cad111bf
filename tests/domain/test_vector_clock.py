"""Vector clocks against a naive dense model: the set of every dot they include."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.ids import DeviceId
from memory_service.domain.vector_clock import COUNTER_MAX, Dot, Order, VectorClock

DEVICES = [DeviceId(d) for d in "abcd"]
clocks = st.dictionaries(st.sampled_from(DEVICES), st.integers(0, 5)).map(VectorClock)
dots = st.builds(Dot, st.sampled_from(DEVICES), st.integers(1, 6))


def dense(clock: VectorClock) -> set[tuple[str, int]]:
    """Every dot the clock includes, one by one."""
    return {(device, n) for device, counter in clock.items() for n in range(1, counter + 1)}


@given(clocks, clocks)
def test_merge_is_the_union_of_dots(a: VectorClock, b: VectorClock) -> None:
    assert dense(a.merge(b)) == dense(a) | dense(b)


@given(clocks, clocks, clocks)
def test_merge_is_a_semilattice(a: VectorClock, b: VectorClock, c: VectorClock) -> None:
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(a) == a


@given(clocks, clocks)
def test_order_is_that_of_sets(a: VectorClock, b: VectorClock) -> None:
    left, right = dense(a), dense(b)
    expected = (
        Order.EQUAL
        if left == right
        else Order.AFTER
        if left > right
        else Order.BEFORE
        if left < right
        else Order.CONCURRENT
    )
    assert a.compare(b) is expected
    assert a.descends(b) == (left >= right)


@given(clocks, dots)
def test_saw_is_membership(clock: VectorClock, dot: Dot) -> None:
    assert clock.saw(dot) == ((dot.device, dot.counter) in dense(clock))


@given(clocks)
def test_equal_clocks_hash_alike_whatever_zeros_they_were_made_with(clock: VectorClock) -> None:
    padded = VectorClock({**dict.fromkeys(DEVICES, 0), **clock})
    assert padded == clock
    assert hash(padded) == hash(clock)
    assert DeviceId("never") not in clock


@pytest.mark.parametrize("counter", [-1, COUNTER_MAX + 1])
def test_counters_outside_the_stored_range_are_refused(counter: int) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        VectorClock({DeviceId("a"): counter})
