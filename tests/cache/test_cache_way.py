"""The way to the cache's folder: a cache is refused where any other user could put another one in its place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cache_entries import entry_of, key_of, recorded, reopen
from cache_users import hand_over

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the profile folder's access list does this on Windows")


@pytest.fixture
def parent(tmp_path):
    """Return a folder with a cache in it, two levels down, that holds entry 0."""
    reopen(tmp_path / "parent" / "inner" / "cache").put(entry_of(0))
    return tmp_path / "parent"


def refusal(path):
    """Return why nothing is read from, or written to, a cache, or nothing, and what is read from it as a site."""
    with recorded() as told:
        found, written = reopen(path).get(key_of(0)), reopen(path).put(entry_of(1))
        site = reopen(None, sites=[path]).get(key_of(0))
    assert (found is None) == (not written) == bool(told)
    assert len(set(told)) <= 1
    if told:
        assert "HATCH_CUDA_KERNELS_CACHE_TRUST=1" in told[0]
    return (told[0] if told else ""), site


def test_a_parent_that_everybody_can_write_to(parent):
    """Whoever can rename the cache's folder can put his own there: it is refused, as a site too, until that is mended.

    Nothing is made in such a parent either.
    """
    parent.chmod(0o777)
    told, site = refusal(parent / "inner" / "cache")
    assert f"everyone can write to {parent}, and so replace {parent / 'inner'}; chmod o-w it" in told
    assert site is None
    with pytest.warns(RuntimeWarning, match="everyone can write to"):
        assert not reopen(parent / "new" / "cache").put(entry_of(0))
    assert not (parent / "new").exists()
    parent.chmod(0o755)
    assert refusal(parent / "inner" / "cache")[0] == ""


def test_the_sticky_bit_protects_what_is_ones_own(parent, monkeypatch):
    """In a folder like /tmp only its owner can rename a folder, so it may be used, but not another user's one.

    A site's folder may belong to anybody.
    """
    parent.chmod(0o1777)
    assert refusal(parent / "inner" / "cache")[0] == ""
    assert reopen(parent / "new" / "cache").put(entry_of(0))
    hand_over(monkeypatch, parent / "inner")
    told, site = refusal(parent / "inner" / "cache")
    assert f"{parent / 'inner'} belongs to another user (uid 12345)" in told
    assert site == entry_of(0)


@pytest.mark.parametrize("mode", [0o770, 0o775, 0o2775])
def test_a_group_is_trusted_with_a_parent(parent, mode):
    """Project folders that a group may write to, and the private groups of many systems, are no reason to refuse."""
    parent.chmod(mode)
    assert refusal(parent / "inner" / "cache") == ("", entry_of(0))


def test_an_owner_is_trusted_with_a_parent(parent, monkeypatch):
    """A cache of one's own in a folder of a colleague or a service is used."""
    hand_over(monkeypatch, parent)
    assert refusal(parent / "inner" / "cache") == ("", entry_of(0))


def test_a_link_on_the_way_is_followed(parent, tmp_path):
    """A home, or a cache, that is a link to another disk is used as if it were there."""
    (tmp_path / "link").symlink_to("parent/../parent/./inner")
    (tmp_path / "chain").symlink_to(tmp_path / "link")
    assert refusal(tmp_path / "chain" / "cache") == ("", entry_of(0))
    (tmp_path / "direct").symlink_to(parent / "inner" / "cache")
    assert refusal(tmp_path / "direct") == ("", entry_of(0))


def test_a_link_through_a_folder_that_everybody_can_write_to(parent, tmp_path):
    """Each folder that a link leads through is looked at, not only those in the name."""
    (tmp_path / "link").symlink_to("parent/inner")
    parent.chmod(0o777)
    assert "everyone can write to" in refusal(tmp_path / "link" / "cache")[0]
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(parent / "over")
    (parent / "over").symlink_to(tmp_path / "elsewhere")
    parent.chmod(0o755)
    assert reopen(tmp_path / "elsewhere" / "cache").put(entry_of(0))
    assert refusal(tmp_path / "link" / "cache")[0] == ""
    parent.chmod(0o777)
    assert f"so replace {parent / 'over'}" in refusal(tmp_path / "link" / "cache")[0]


def test_another_users_link_in_a_shared_folder(parent, tmp_path, monkeypatch):
    """A link that somebody put into /tmp under a name that was to be expected leads nowhere, not even to one's own."""
    parent.chmod(0o1777)
    (tmp_path / "mine").mkdir()
    reopen(tmp_path / "mine" / "cache").put(entry_of(0))
    (parent / "cache-of-me").symlink_to(tmp_path / "mine" / "cache")
    assert refusal(parent / "cache-of-me")[0] == ""
    hand_over(monkeypatch, parent / "cache-of-me")
    assert "cache-of-me belongs to another user" in refusal(parent / "cache-of-me")[0]


def test_links_that_lead_in_a_circle(tmp_path):
    """They are no place for a cache, and no endless loop."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    cache = reopen(tmp_path / "a" / "cache")
    with recorded() as told:
        assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
        assert cache.prune(0) == cache.clear() == 0
    assert len(told) == 1
    assert "symbolic links" in told[0]


def test_a_user_may_trust_the_way(parent, monkeypatch):
    """HATCH_CUDA_KERNELS_CACHE_TRUST=1 holds for parents too."""
    parent.chmod(0o777)
    hand_over(monkeypatch, parent)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_TRUST", "1")
    assert refusal(parent / "inner" / "cache") == ("", entry_of(0))


def test_a_relative_way(parent, monkeypatch):
    """A path is taken from where the process is."""
    monkeypatch.chdir(parent)
    assert refusal(Path("inner", "cache")) == ("", entry_of(0))
    parent.chmod(0o777)
    assert "everyone can write to" in refusal(Path("inner", "..", "inner", "cache"))[0]
