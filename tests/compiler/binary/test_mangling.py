"""Lowered names as messages show them."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.binary.mangling import demangled

#: As c++filt prints them, but for the return types of templates, and with ``const`` where people write it.
NAMES = {
    "table": "table",
    "_ZN2ns5tableE": "ns::table",
    "_Z1fv": "f()",
    "_ZN2ns6helperEf": "ns::helper(float)",
    "_ZN2ns6helperIfEET_S1_RKNS_1PEPKPf": "ns::helper<float>(float, const ns::P&, float* const*)",
    "_Z4gemmILi128ELb1EfEvPKT1_S2_PS0_": "gemm<128, true, float>(const float*, const float*, float*)",
    "_Z1kIN2ns1PEEvT_S1_": "k<ns::P>(ns::P, ns::P)",
    "_Z4fillILj3ELin5EEvv": "fill<3u, -5>()",
    "_ZN12_GLOBAL__N_12akEPi": "(anonymous namespace)::ak(int*)",
    "_ZNK1A3getEi": "A::get(int) const",
    "_ZN1AC1Ei": "A::A(int)",
    "_ZN1AD1Ev": "A::~A()",
    "_ZplRK1AS1_": "operator+(const A&, const A&)",
    "_ZngRK1A": "operator-(const A&)",
    "_ZssRK1AS1_": "operator<=>(const A&, const A&)",
    "_ZN1AlSEi": "A::operator<<=(int)",
    "_Z1gPFviE": "g(void (*)(int))",
    "_Z1hPA4_f": "h(float (*) [4])",
    "_Z1gPKcz": "g(const char*, ...)",
    "_Z1sSt4pairIifE": "s(std::pair<int, float>)",
    "_Z1f6__halfPS_": "f(__half, __half*)",
    "_Z3fooN2ns1PES0_": "foo(ns::P, ns::P)",
    "_ZN3cub17CUB_300001_SM_9003sumEPKiS2_": "cub::CUB_300001_SM_900::sum(const int*, const int*)",
    # What is not read, or is no mangled name at all.
    "_Z3barIJifEEvDpT_": "_Z3barIJifEEvDpT_",
    "_Z": "_Z",
    "_Z99short": "_Z99short",
    "_ZN": "_ZN",
    "_Z1fS9_": "_Z1fS9_",
    "__cudaCDP2LaunchDeviceV2": "__cudaCDP2LaunchDeviceV2",
}


@pytest.mark.parametrize("lowered", NAMES)
def test_names_are_spelled_as_in_the_source(lowered):
    """Whatever cannot be read stays as it is."""
    assert demangled(lowered) == NAMES[lowered]
