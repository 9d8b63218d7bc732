"""Kernels of cuSignal, one signal at a time."""

from __future__ import annotations

import torch
from case import Case, Project, floats, whole

__all__ = ["CUSIGNAL"]

N, TAPS, CHANNELS, POINTS, SIGNALS, SECTIONS, UP, DOWN, FREQUENCIES = 1000, 8, 8, 60, 5, 4, 3, 2, 300
#: The modes of a convolution.
VALID, FULL = 0, 2


def filtered(mode, make, out):
    """Return the arguments of a convolution or correlation."""
    width = N - TAPS + 1 if mode == VALID else N + TAPS - 1
    return {
        "inp": make(N), "inpW": N, "kernel": make(TAPS), "kerW": TAPS, "mode": mode, "swapped_inputs": False,
        "out": torch.zeros(width, device="cuda", dtype=out), "outW": width,
    }  # fmt: skip


def products(x, taps, mode):
    """Return the sums of x with taps in this order, exactly for integers."""
    pad = TAPS - 1 if mode == FULL else 0
    windows = torch.nn.functional.pad(x, (pad, pad)).unfold(0, TAPS, 1)
    return (windows * taps).sum(-1)


def convolved(given):
    return {"out": products(given.inp, given.kernel.flip(0), given.mode).to(given.out.dtype)}


def correlated(given):
    return {"out": products(given.inp, given.kernel, given.mode).to(given.out.dtype)}


def channels(given):
    """Each channel with its own taps, the last input channel first."""
    x = given.x.reshape(POINTS, CHANNELS).flip(1)
    y = torch.zeros_like(x)
    for tap, weights in enumerate(given.h.reshape(TAPS, CHANNELS)):
        y[tap:] += weights * x[: POINTS - tap]
    return {"y": y.to(torch.complex64)}


def sections(given):
    """Filters of second order in a row, each in the transposed direct form II."""
    x = given.x_in.double().cpu()
    zi = given.zi.double().cpu().reshape(SIGNALS, SECTIONS, 2)
    for number, (b0, b1, b2, _, a1, a2) in enumerate(given.sos.double().cpu().tolist()):
        first, second = zi[:, number].unbind(-1)
        result = torch.empty_like(x)
        for n in range(x.shape[1]):
            result[:, n] = b0 * x[:, n] + first
            first = b1 * x[:, n] - a1 * result[:, n] + second
            second = b2 * x[:, n] - a2 * result[:, n]
        x = result
    return {"x_in": x.to(given.x_in)}


def stable(dtype):
    """Return signals, and filters with poles near zero; their states begin at 0, as the kernel changes them early."""
    return {
        "n_signals": SIGNALS, "n_samples": 50, "n_sections": SECTIONS, "zi_width": 2,
        "sos": floats(SECTIONS, 6, dtype=dtype) * 0.2,
        "zi": torch.zeros(SIGNALS, SECTIONS, 2, device="cuda", dtype=dtype), "x_in": floats(SIGNALS, 50, dtype=dtype),
    }  # fmt: skip


def resampling():
    width = ((N - 1) * UP + TAPS * UP - 1) // DOWN + 1
    return {
        "inp": floats(N), "h_trans_flip": floats(UP, TAPS), "up": UP, "down": DOWN, "axis": 0, "x_shape_a": N,
        "h_per_phase": TAPS, "padded_len": N + TAPS - 1, "out": torch.zeros(width, device="cuda"), "outW": width,
    }  # fmt: skip


def resampled(given):
    """With zeros put between the numbers, filtered, and every other one taken."""
    taps = given.h_trans_flip.flip(1).t().reshape(-1)
    spread = torch.zeros((N - 1) * UP + 1, device=taps.device)
    spread[::UP] = given.inp
    padded = torch.nn.functional.pad(spread, (len(taps) - 1,) * 2)
    return {"out": (padded.unfold(0, len(taps), 1) * taps.flip(0)).sum(-1)[::DOWN][: given.outW]}


def swapped(given):
    """Of the other byte order."""
    return {"output": given.input.reshape(N, -1).flip(1).contiguous().view(given.output.dtype).reshape(N)}


def unpacking(dtype):
    return {
        "N": N, "little": False, "input": whole(N * dtype.itemsize, below=256, dtype=torch.uint8),
        "output": torch.zeros(N, device="cuda", dtype=dtype),
    }  # fmt: skip


def peaks(dtype):
    return {
        "n": N, "order": 2, "clip": True, "comp": 1, "inp": whole(N, below=99, dtype=dtype),
        "results": torch.zeros(N, device="cuda", dtype=torch.bool),
    }  # fmt: skip


def is_peak(given):
    """Greater than the two on each side; past the ends, the last counts."""
    at = torch.arange(N, device=given.inp.device)
    found = torch.ones(N, dtype=torch.bool, device=at.device)
    for step in (1, 2, -1, -2):
        found &= given.inp > given.inp[(at + step).clamp(0, N - 1)]
    return {"results": found}


def periodogram(dtype):
    y = floats(200, dtype=dtype)
    return {
        "x_shape": 200, "freqs_shape": FREQUENCIES, "x": floats(200, dtype=dtype).cumsum(0), "y": y,
        "freqs": floats(FREQUENCIES, dtype=dtype).abs() + 0.1,
        "pgram": torch.zeros(FREQUENCIES, device="cuda", dtype=dtype), "y_dot": (y @ y).reshape(1),
    }  # fmt: skip


def power(given):
    """The formula of Lomb and Scargle, in double precision."""
    x, y, freqs = (numbers.double() for numbers in (given.x, given.y, given.freqs))
    c, s = torch.cos(freqs[:, None] * x), torch.sin(freqs[:, None] * x)
    xc, xs, cc, ss, cs = (part.sum(-1) for part in (y * c, y * s, c * c, s * s, c * s))
    tau = torch.atan2(2 * cs, cc - ss) / (2 * freqs)
    ct, st = torch.cos(freqs * tau), torch.sin(freqs * tau)
    first = (ct * xc + st * xs) ** 2 / (ct**2 * cc + 2 * ct * st * cs + st**2 * ss)
    second = (ct * xs - st * xc) ** 2 / (ct**2 * ss - 2 * ct * st * cs + st**2 * cc)
    return {"pgram": ((first + second) / given.y_dot).to(given.pgram.dtype)}


def like_windows(inp, kernel):
    """Return an array for the sums of a correlation, mode VALID."""
    return inp.new_empty(inp.numel() - kernel.numel() + 1)


def integers(dtype):
    return lambda count: whole(count, below=50, dtype=dtype)


CASES = (
    Case("cupy_convolve_float32", lambda: filtered(VALID, floats, torch.float32), convolved),
    Case("cupy_convolve_int32", lambda: filtered(FULL, integers(torch.int32), torch.int32), convolved, 0),
    Case(
        "cupy_convolve_complex64",
        lambda: filtered(FULL, lambda count: floats(count, dtype=torch.complex64), torch.complex64),
        convolved,
    ),
    Case(
        "cupy_correlate_float64",
        lambda: filtered(VALID, lambda count: floats(count, dtype=torch.float64), torch.float64),
        correlated,
        1e-12,
    ),
    Case("cupy_correlate_int64", lambda: filtered(FULL, integers(torch.int64), torch.int64), correlated, 0),
    Case(
        "cupy_channelizer_8x8_float32_complex64",
        lambda: {
            "n_chans": CHANNELS, "n_taps": TAPS, "n_pts": POINTS, "x": floats(POINTS, CHANNELS),
            "h": floats(TAPS, CHANNELS), "y": torch.zeros(POINTS, CHANNELS, device="cuda", dtype=torch.complex64),
        },
        channels,
    ),
    Case("cupy_sosfilt_float32", lambda: stable(torch.float32), sections, 1e-4),
    Case("cupy_sosfilt_float64", lambda: stable(torch.float64), sections, 1e-12),
    Case("cupy_upfirdn1D_float32", resampling, resampled),
    Case("cupy_unpack_int16", lambda: unpacking(torch.int16), swapped, 0),
    Case("cupy_unpack_float64", lambda: unpacking(torch.float64), swapped, 0),
    Case(
        "cupy_pack_float32",
        lambda: {"N": 4 * N, "input": floats(N), "output": torch.zeros(4 * N, device="cuda", dtype=torch.uint8)},
        lambda given: {"output": given.input.view(torch.uint8)},
        0,
    ),
    Case("cupy_boolrelextrema_1D_float32", lambda: peaks(torch.float32), is_peak, 0),
    Case("cupy_boolrelextrema_1D_int64", lambda: peaks(torch.int64), is_peak, 0),
    Case("cupy_lombscargle_float32", lambda: periodogram(torch.float32), power, 2e-3),
    Case("cupy_lombscargle_float64", lambda: periodogram(torch.float64), power, 1e-9),
)  # fmt: skip
CUSIGNAL = Project(
    "rapidsai+cusignal",
    CASES,
    {
        "functional": {
            "cupy_correlate_float64": {"out": like_windows},
            "cupy_lombscargle_float64": {"pgram": "freqs"},
        }
    },
)
