"""NVRTC options: flags, canonical form, inheritance and what may pass through."""

from dataclasses import fields

from hatch_cuda_kernels.options import (
    CppStd,
    NvrtcOptions,
    canonical_options,
    nvrtc_flags,
    options_from,
    override_options,
)


def test_flags_are_nvrtcs_spelling_in_canonical_order():
    """Every option reaches NVRTC, whatever order it was written in."""
    options = NvrtcOptions(
        extra=("--restrict",),
        define=(("B", None), ("A", "1 + 1")),
        debug=True,
        maxrregcount=64,
        fma=False,
        prec_sqrt=True,
        prec_div=False,
        ftz=True,
        use_fast_math=True,
        std=CppStd.CPP20,
        lineinfo=True,
        lto=True,
    )
    assert nvrtc_flags(options) == (
        "--std=c++20",
        "--use_fast_math",
        "--ftz=true",
        "--prec-div=false",
        "--prec-sqrt=true",
        "--fmad=false",
        "--maxrregcount=64",
        "-lineinfo",
        "-G",
        "-dlto",
        "-DB",
        "-DA=1 + 1",
        "--restrict",
    )


def test_defaults_are_not_in_the_canonical_form():
    """An explicit default equals an unset option."""
    assert canonical_options(NvrtcOptions(std=CppStd.CPP17, use_fast_math=False)) == {}


def test_canonical_form_survives_json():
    """What an index records gives the same options back."""
    import json

    options = NvrtcOptions(
        std=CppStd.CPP20, ftz=False, define=(("A", "x"), ("B", None)), include=("inc",), extra=("-w",)
    )
    assert options_from(json.loads(json.dumps(canonical_options(options)))) == options


def test_define_order_is_kept_and_override_merges_by_name():
    """A module's macro replaces the top-level one in place; new ones follow."""
    base = NvrtcOptions(define=(("A", "1"), ("B", "2")), include=("inc",))
    changed = override_options(base, define=(("C", "3"), ("A", "9")), include=("other",))
    assert changed.define == (("A", "9"), ("B", "2"), ("C", "3"))
    assert changed.include == ("other",)


def test_every_option_changes_flags_or_headers():
    """No option is without effect: each non-default value shows in the flags, names headers or changes texts."""
    samples = {
        "std": CppStd.CPP14, "use_fast_math": True, "ftz": True, "prec_div": True, "prec_sqrt": True, "fma": True,
        "maxrregcount": 32, "lineinfo": True, "debug": True, "lto": True, "define": (("X", "1"),), "extra": ("-w",),
        "default_device": True,
    }  # fmt: skip
    texts = {"include", "pre_include", "standard_headers", "host_code", "host_only"}
    assert samples.keys() | texts == {field.name for field in fields(NvrtcOptions)}
    plain = nvrtc_flags(NvrtcOptions())
    assert all(nvrtc_flags(NvrtcOptions(**{name: value})) != plain for name, value in samples.items())
