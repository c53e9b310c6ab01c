"""The wish for hosts on a Ray cluster, and the choice of nodes: without Ray."""

from __future__ import annotations

import pytest

from greenroom.core import UsageError
from greenroom.remote.ray import RayPlace, parse_ray_place
from greenroom.remote.ray._ray_place import choose_nodes


def test_a_wish_is_a_number_of_hosts_and_an_address() -> None:
    assert parse_ray_place("ray:4") == RayPlace(hosts=4)
    assert parse_ray_place("ray:2@auto") == RayPlace(hosts=2, address="auto")
    assert parse_ray_place("ray:2@[::1]:6379") == RayPlace(hosts=2, address="[::1]:6379")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4", "ray:NUMBER"),
        ("ray:", "ray:NUMBER"),
        ("ray:four", "ray:NUMBER"),
        ("ray:0", "between 1 and 64, got 0"),
        ("ray:65", "between 1 and 64, got 65"),
        ("ray:1@ray://head:10001", "must be local, auto or HOST:PORT"),
        ("ray:1@head", "must be local, auto or HOST:PORT"),
    ],
)
def test_a_wish_that_cannot_be_read_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        parse_ray_place(text)
    assert "\n" not in str(caught.value)


def test_each_node_takes_one_host_and_a_local_cluster_all() -> None:
    assert choose_nodes(RayPlace(hosts=3), ["a"]) == ["a", "a", "a"]
    assert choose_nodes(RayPlace(hosts=2, address="auto"), ["c", "a", "b"]) == ["a", "b"]
    with pytest.raises(UsageError, match=r"at auto has 1 node, and each takes one host: 2 hosts need 2 nodes"):
        choose_nodes(RayPlace(hosts=2, address="auto"), ["a"])
