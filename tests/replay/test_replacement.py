"""A file that takes the place of another: whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.replay._run_export import open_replacement


@pytest.mark.promise("X-whole")
def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_bytes(b"old")

    with pytest.raises(ZeroDivisionError), open_replacement(place) as file:
        file.write(b"half")
        raise ZeroDivisionError

    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def test_a_new_file_is_for_its_owner_and_a_replaced_one_keeps_its_mode(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_bytes(b"old")
    old.chmod(0o644)

    for place in (new, old):
        with open_replacement(place) as file:
            file.write(b"whole")

    assert [place.read_bytes() for place in (new, old)] == [b"whole"] * 2
    assert [place.stat().st_mode & 0o777 for place in (new, old)] == [0o600, 0o644]


def test_a_link_stays_and_a_device_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)

    with open_replacement(link) as file:
        file.write(b"whole")
    with open_replacement(Path("/dev/null")) as file:
        file.write(b"whole")

    assert link.is_symlink()
    assert target.read_bytes() == b"whole"
    assert Path("/dev/null").is_char_device()
