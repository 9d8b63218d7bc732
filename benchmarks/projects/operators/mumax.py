"""Kernels of mumax/3. Vectors are three arrays, x, y and z; a null pointer stands for an array of ones."""

from __future__ import annotations

import torch
from case import Case, Project, floats, whole

__all__ = ["MUMAX"]

N = 10_000
NX, NY, NZ = 40, 33, 6
SIZE = {"Nx": NX, "Ny": NY, "Nz": NZ}


def vectors(*names, shape=(N,)):
    """Return three arrays a name: ``m`` gives mx, my and mz."""
    return {name.replace("*", axis): floats(*shape) for name in names for axis in "xyz"}


def stacked(given, name):
    """Return a vector's arrays as one, whose first axis is x, y, z."""
    return torch.stack([getattr(given, name.replace("*", axis)) for axis in "xyz"])


def written(name, values):
    """Return an array for each component."""
    return {name.replace("*", axis): value for axis, value in zip("xyz", values, strict=True)}


def cross(a, b):
    return torch.linalg.cross(a, b, dim=0)


def torque(given):
    m, field = stacked(given, "m*"), stacked(given, "h*")
    precession = cross(m, field)
    return written("t*", (precession + given.alpha_mul * cross(m, precession)) / -(1 + given.alpha_mul**2))


def step(given):
    m, t = stacked(given, "m0*"), stacked(given, "t*")
    t2 = given.dt**2 * (t * t).sum(0)
    return written("m*", ((4 - t2) * m + 4 * given.dt * t) / (4 + t2))


def anisotropy(given):
    field, m = stacked(given, "B*"), stacked(given, "m*")
    axis = torch.tensor([given.ux_mul, given.uy_mul, given.uz_mul], device=m.device).reshape(3, 1)
    axis = axis / axis.norm()
    along = (m * axis).sum(0)
    factor = (2 * given.K1_mul * given.K1_ * along + 4 * given.K2_mul * along**3) / given.Ms_mul
    return written("B*", field + factor * axis)


def exchange(given):
    """Each cell with its six neighbours; all three axes are periodic (PBC 7)."""
    m = stacked(given, "m*")
    total = torch.zeros_like(m)
    for axis, weight in ((-1, given.wx), (-2, given.wy), (-3, given.wz)):
        for way in (1, -1):
            pair = (given.regions + given.regions.roll(way, axis)).long()  # of two regions, this is the table's index
            total += weight * given.aLUT2d[pair] * (m.roll(way, axis) - m)
    return written("B*", stacked(given, "B*") + total / given.Ms_mul)


def shifted(given):
    moved = given.src.roll(given.shx, -1)
    moved[..., : given.shx] = given.clampL
    return {"dst": moved}


def cropped(given):
    return {"dst": given.src[1 : 1 + given.Dz, 2 : 2 + given.Dy, 3 : 3 + given.Dx]}


def product(given):
    both = [torch.view_as_complex(numbers) for numbers in (given.fftM, given.fftK)]
    return {"fftM": torch.view_as_real(both[0] * both[1])}


CASES = (
    Case(
        "madd2",
        lambda: {"dst": floats(N), "src1": floats(N), "fac1": 2.0, "src2": floats(N), "fac2": -3.0, "N": N},
        lambda given: {"dst": given.fac1 * given.src1 + given.fac2 * given.src2},
    ),
    Case(
        "mul",
        lambda: {"dst": floats(N), "a": floats(N), "b": floats(N), "N": N},
        lambda given: {"dst": given.a * given.b},
    ),
    Case(
        "pointwise_div",
        lambda: {"dst": floats(N), "a": floats(N), "b": whole(N, below=3).float(), "N": N},
        lambda given: {"dst": torch.where(given.b == 0, 0, given.a / given.b)},
    ),
    Case(
        "crossproduct",
        lambda: {**vectors("dst*", "a*", "b*"), "N": N},
        lambda given: written("dst*", cross(stacked(given, "a*"), stacked(given, "b*"))),
    ),
    Case(
        "dotproduct",
        lambda: {"dst": floats(N), "prefactor": 0.5, **vectors("a*", "b*"), "N": N},
        lambda given: {
            "dst": given.dst + given.prefactor * (stacked(given, "a*") * stacked(given, "b*")).sum(0),
        },
    ),
    Case(
        "normalize",
        lambda: {**vectors("v*"), "vol": None, "N": N},
        lambda given: written("v*", torch.nn.functional.normalize(stacked(given, "v*"), dim=0)),
    ),
    Case("lltorque2", lambda: {**vectors("t*", "m*", "h*"), "alpha_": None, "alpha_mul": 0.1, "N": N}, torque),
    Case("minimize", lambda: {**vectors("m*", "m0*", "t*"), "dt": 0.01, "N": N}, step),
    Case(
        "regiondecode",
        lambda: {"dst": floats(N), "LUT": floats(256), "regions": whole(N, below=256, dtype=torch.uint8), "N": N},
        lambda given: {"dst": given.LUT[given.regions.long()]},
        0,
    ),
    Case(
        "zeromask",
        lambda: {
            "dst": floats(N), "maskLUT": whole(256, below=2).float(),
            "regions": whole(N, below=256, dtype=torch.uint8), "N": N,
        },
        lambda given: {"dst": torch.where(given.maskLUT[given.regions.long()] != 0, 0, given.dst)},
        0,
    ),
    Case(
        "adduniaxialanisotropy2",
        lambda: {
            **vectors("B*", "m*"), "Ms_": None, "Ms_mul": 2.0, "K1_": floats(N), "K1_mul": 3.0, "K2_": None,
            "K2_mul": 0.5, "ux_": None, "ux_mul": 1.0, "uy_": None, "uy_mul": 2.0, "uz_": None, "uz_mul": -1.0, "N": N,
        },
        anisotropy,
    ),
    Case(
        "settemperature2",
        lambda: {
            "B": floats(N), "noise": floats(N), "kB2_VgammaDt": 0.3, "Ms_": None, "Ms_mul": 2.0,
            "temp_": floats(N).abs(), "temp_mul": 4.0, "alpha_": None, "alpha_mul": 0.1, "N": N,
        },
        lambda given: {"B": given.noise * (0.3 * 0.1 * 4.0 / 2.0 * given.temp_).sqrt()},
    ),
    Case(
        "reducesum",
        lambda: {"src": floats(N), "dst": floats(1), "initVal": 0.0, "n": N},
        lambda given: {"dst": given.dst + given.src.double().sum()},
        1e-3,
    ),
    Case(
        "reducedot",
        lambda: {"x1": floats(N), "x2": floats(N), "dst": floats(1), "initVal": 0.0, "n": N},
        lambda given: {"dst": given.dst + given.x1.double() @ given.x2.double()},
        1e-3,
    ),
    Case(
        "reducemaxabs",
        lambda: {"src": floats(N), "dst": floats(1) * 0, "initVal": 0.0, "n": N},
        lambda given: {"dst": given.src.abs().max().reshape(1)},
        0,
    ),
    Case(
        "shiftx",
        lambda: {"dst": floats(NZ, NY, NX), "src": floats(NZ, NY, NX), **SIZE, "shx": 3, "clampL": 9.0, "clampR": 7.0},
        shifted,
        0,
    ),
    Case(
        "setPhi",
        lambda: {"phi": floats(NZ, NY, NX), "mx": floats(NZ, NY, NX), "my": floats(NZ, NY, NX), **SIZE},
        lambda given: {"phi": torch.atan2(given.my, given.mx)},
    ),
    Case(
        "addexchange",
        lambda: {
            **vectors("B*", "m*", shape=(NZ, NY, NX)), "Ms_": None, "Ms_mul": 2.0, "aLUT2d": floats(3),
            "regions": whole(NZ, NY, NX, below=2, dtype=torch.uint8), "wx": 1.0, "wy": 2.0, "wz": 0.5, **SIZE, "PBC": 7,
        },
        exchange,
    ),
    Case(
        "crop",
        lambda: {
            "dst": floats(3, 20, 31), "Dx": 31, "Dy": 20, "Dz": 3,
            "src": floats(NZ, NY, NX), "Sx": NX, "Sy": NY, "Sz": NZ, "Offx": 3, "Offy": 2, "Offz": 1,
        },
        cropped,
        0,
    ),
    Case(
        "copyunpad",
        lambda: {
            "dst": floats(3, 20, 31), "Dx": 31, "Dy": 20, "Dz": 3,
            "src": floats(NZ, NY, NX), "Sx": NX, "Sy": NY, "Sz": NZ,
        },
        lambda given: {"dst": given.src[:3, :20, :31]},
        0,
    ),
    Case("kernmulC", lambda: {"fftM": floats(NY, NX, 2), "fftK": floats(NY, NX, 2), "Nx": NX, "Ny": NY}, product),
)  # fmt: skip
MUMAX = Project(
    "mumax+3",
    CASES,
    {
        "optional": {
            "normalize": ["vol"],
            "lltorque2": ["alpha_"],
            "adduniaxialanisotropy2": ["Ms_", "K1_", "K2_", "ux_", "uy_", "uz_"],
            "settemperature2": ["Ms_", "temp_", "alpha_"],
            "addexchange": ["Ms_"],
        },
        "functional": {"madd2": {name: name for name in ("dst", "src1", "src2")}},
    },
)
