"""Whether the accelerator is used: only where it is installed, fits, and is not turned off."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from hatch_cuda_kernels.runtime.launch import accelerator

NAME = "hatch_cuda_kernels_accelerator"


@pytest.fixture
def install(monkeypatch):
    """Return what installs a module in the accelerator's place, None for none."""

    def put(module):
        monkeypatch.setitem(sys.modules, NAME, module)
        monkeypatch.setattr(accelerator, "_address", lambda _: 1)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        if module is not None:
            monkeypatch.setattr(metadata, "version", lambda _: "0.1.0")
        forget()

    def forget():
        accelerator._module.cache_clear()
        accelerator._found.cache_clear()

    yield put
    forget()


def module(protocol=accelerator._PROTOCOL, *, learns=True):
    """Return a stand-in for the extension."""
    return SimpleNamespace(PROTOCOL=protocol, learn=lambda _: learns)


def test_it_is_used_where_it_is_installed(install):
    """Nothing needs to be said."""
    found = module()
    install(found)
    assert accelerator.find_accelerator() == (found, 1, 1)
    assert accelerator.accelerator_state() == "0.1.0"


def test_this_checkouts_sources_are_of_the_same_protocol(compiled):
    """What is compiled from them is used."""
    assert compiled.PROTOCOL == accelerator._PROTOCOL


def test_it_is_optional(install):
    """Without it, Python launches."""
    install(None)
    assert accelerator.find_accelerator() is None
    assert accelerator.accelerator_state() == "not installed"


def test_it_can_be_turned_off(install, monkeypatch):
    """By the environment; anything but 0 leaves it on."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_ACCELERATOR", "0")
    install(module())
    assert accelerator.find_accelerator() is None
    assert accelerator.accelerator_state() == "off (HATCH_CUDA_KERNELS_ACCELERATOR=0)"


def test_one_of_another_protocol_is_not_used(install):
    """It was made for another version of the package."""
    install(module(protocol=accelerator._PROTOCOL - 1))
    assert accelerator.find_accelerator() is None
    # By pip or by uv, whichever made the environment.
    assert re.match(r"0\.1\.0 does not fit; .* pip install .*--upgrade ", accelerator.accelerator_state())


def test_it_is_not_used_without_the_gil(install, monkeypatch):
    """A free-threaded Python has other objects than the extension was compiled for."""
    monkeypatch.setattr(sys, "abiflags", "t", raising=False)
    install(module())
    assert accelerator.find_accelerator() is None
    assert accelerator.accelerator_state() == "not used: it is not for free-threaded Python"


@pytest.mark.parametrize("learns", [True, False])
def test_it_is_not_used_beside_a_torch_that_it_cannot_read(install, monkeypatch, learns):
    """Python reads the tensors of an old torch faster."""
    install(module(learns=learns))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=object))
    assert (accelerator.find_accelerator() is not None) == learns
