"""The driver's JIT cache settings, without a driver: what is set, kept and refused."""

from __future__ import annotations

import os

import pytest

from hatch_cuda_kernels import configure_driver_cache
from hatch_cuda_kernels.errors import InputError

VARIABLES = ("CUDA_CACHE_PATH", "CUDA_CACHE_MAXSIZE", "CUDA_CACHE_DISABLE")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """Start without the variables, and take away what a test sets; there is no driver to ask."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that it is restored afterwards
        monkeypatch.delenv(name)
    monkeypatch.setattr("hatch_cuda_kernels.runtime.driver_cache._driver_is_initialised", lambda: False)


def test_sets_all_three(tmp_path):
    """Folder, size and switch reach the environment; the folder is made."""
    settings = configure_driver_cache(tmp_path / "new" / "folder", max_bytes=1 << 20)
    assert settings == (str(tmp_path / "new" / "folder"), 1 << 20, True)
    assert [os.environ[name] for name in VARIABLES] == [settings.path, "1048576", "0"]
    assert (tmp_path / "new" / "folder").is_dir()


def test_default_leaves_the_drivers_folder():
    """Without a path the driver keeps its own folder, and the cache is one GiB."""
    assert configure_driver_cache() == (None, 1 << 30, True)
    assert "CUDA_CACHE_PATH" not in os.environ


def test_what_the_user_set_is_kept(tmp_path, monkeypatch):
    """Variables of the environment win over arguments."""
    monkeypatch.setenv("CUDA_CACHE_PATH", str(tmp_path / "theirs"))
    monkeypatch.setenv("CUDA_CACHE_MAXSIZE", str(2 << 30))
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    assert configure_driver_cache(tmp_path / "ours") == (str(tmp_path / "theirs"), 2 << 30, False)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("CUDA_CACHE_MAXSIZE", "1 GiB", "CUDA_CACHE_MAXSIZE='1 GiB' in the environment is not a number of bytes"),
        ("CUDA_CACHE_MAXSIZE", "1000", "1000 in the environment is smaller than the 1073741824 bytes requested"),
        ("CUDA_CACHE_PATH", "", "CUDA_CACHE_PATH in the environment is empty"),
        ("CUDA_CACHE_PATH", "/dev/null/x", "CUDA_CACHE_PATH in the environment /dev/null/x cannot be created"),
    ],
)
def test_bad_environment_is_refused(monkeypatch, variable, value, message):
    """An unusable setting is a clear error instead of a cache that silently does nothing."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match=message):
        configure_driver_cache()


@pytest.mark.parametrize(("path", "size"), [("", 1 << 30), ("/dev/null/x", 1 << 30), (None, 0), (None, 1 << 40)])
def test_bad_arguments_are_refused(path, size):
    """An empty or impossible path and a size out of range are input errors."""
    with pytest.raises(InputError):
        configure_driver_cache(path, size)
