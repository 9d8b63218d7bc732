"""Torch and JAX in one process, with the same kernel of the same store."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

N = 1000


@pytest.fixture
def torch(device):
    """Return torch with a device."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this torch sees no device")
    return torch


@pytest.fixture
def jax(torch):
    """Return JAX with a device."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="needs jax: pip install 'jax[cuda13]'")
    if jax.default_backend() != "gpu":
        pytest.skip("jax sees no GPU here")
    torch.cuda.set_device(0)  # with two devices, JAX leaves the last one current
    return jax


@pytest.fixture
def both(build, native, torch, jax):
    """Return a kernel as an operator of torch, and as a function that JAX compiled."""
    store = build(native)
    name = f"hatch_both_{abs(hash(store.path))}"
    call = store.jax_call("saxpy", aliases={"y": "y"})
    return store.torch_ops(name)["saxpy"], jax.jit(lambda y, x, a: call(y, x, y.size, a), static_argnums=2)


def test_one_after_the_other(torch, jax, both):
    """Each gets what the other one computed, in place of a copy."""
    operator, function = both
    y = torch.zeros(N, device="cuda")
    ones = jax.numpy.ones(N)
    for turn in range(1, 21):
        operator(y, torch.ones(N, device="cuda"), N, 1.0)
        torch.cuda.synchronize()
        of_jax = function(jax.dlpack.from_dlpack(y), ones, 2.0)
        y = torch.from_dlpack(of_jax.block_until_ready()).clone()
        assert y.unique().tolist() == [3.0 * turn]


def test_at_the_same_time(torch, jax, both):
    """In threads of their own."""
    operator, function = both
    wrong, results = [], {}

    def by_torch():
        with torch.cuda.stream(torch.cuda.Stream()):
            y, x = torch.zeros(N, device="cuda"), torch.ones(N, device="cuda")
            for _ in range(300):
                operator(y, x, N, 1.0)
            results["torch"] = y.cpu().numpy()

    def by_jax():
        y, x = jax.numpy.zeros(N), jax.numpy.ones(N)
        for _ in range(300):
            y = function(y, x, 1.0)
        results["jax"] = np.asarray(y)

    def guarded(work):
        try:
            work()
        except Exception as error:  # noqa: BLE001 - of another thread
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (by_torch, by_jax, by_torch, by_jax)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert {name: found.tolist() == [300] * N for name, found in results.items()} == {"torch": True, "jax": True}
