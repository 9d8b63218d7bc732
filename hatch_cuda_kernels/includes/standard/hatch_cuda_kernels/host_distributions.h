// <random>, the part about distributions.
#ifndef _HATCH_HOST_DISTRIBUTIONS_H
#define _HATCH_HOST_DISTRIBUTIONS_H

#include <random>

namespace std {

#define _HATCH_DISTRIBUTION(name, number, more)                     \
   public:                                                          \
    typedef number result_type;                                     \
    class param_type {                                              \
       public:                                                      \
        typedef name distribution_type;                             \
        _HATCH_HD param_type();                                     \
        template <class... _X>                                      \
        _HATCH_HD explicit param_type(more, _X...);                 \
        _HATCH_HD bool operator==(const param_type&) const; \
        _HATCH_HD bool operator!=(const param_type&) const; \
    };                                                              \
    _HATCH_HD name();                                               \
    _HATCH_HD explicit name(const param_type&);                     \
    _HATCH_HD void reset();                                         \
    _HATCH_HD param_type param() const;                             \
    _HATCH_HD void param(const param_type&);                        \
    _HATCH_HD number min() const;                                   \
    _HATCH_HD number max() const;                                   \
    template <class _E>                                             \
    _HATCH_HD number operator()(_E&);                               \
    template <class _E>                                             \
    _HATCH_HD number operator()(_E&, const param_type&);            \
    _HATCH_STREAMED(name)
// With one parameter, and with two.
#define _HATCH_WITH_ONE(name, default, number, type, a, held) \
    template <class _T = default>                              \
    class name {                                               \
        _HATCH_DISTRIBUTION(name, number, type);               \
        _HATCH_HD explicit name(type);                         \
        _HATCH_HD type a() const;                              \
       private:                                                 \
        held;                                                  \
    };
#define _HATCH_WITH_TWO(name, default, type, b_type, a, b, held, ...)  \
    template <class _T = default>                                       \
    class name {                                                        \
        _HATCH_DISTRIBUTION(name, _T, type);                            \
        _HATCH_HD explicit name(type, b_type __VA_ARGS__);              \
        _HATCH_HD type a() const;                                       \
        _HATCH_HD b_type b() const;                                     \
       private:                                                 \
        held;                                                  \
    };
_HATCH_WITH_TWO(uniform_int_distribution, int, _T, _T, a, b, _T __held[2], = 0x7fff)
_HATCH_WITH_TWO(uniform_real_distribution, double, _T, _T, a, b, _T __held[2], = 1)
_HATCH_WITH_TWO(normal_distribution, double, _T, _T, mean, stddev, _T __held[4], = 1)
_HATCH_WITH_TWO(lognormal_distribution, double, _T, _T, m, s, _T __held[6], = 1)
_HATCH_WITH_TWO(gamma_distribution, double, _T, _T, alpha, beta, _T __held[8], = 1)
_HATCH_WITH_TWO(cauchy_distribution, double, _T, _T, a, b, _T __held[2], = 1)
_HATCH_WITH_TWO(fisher_f_distribution, double, _T, _T, m, n, _T __held[18], = 1)
_HATCH_WITH_TWO(weibull_distribution, double, _T, _T, a, b, _T __held[2], = 1)
_HATCH_WITH_TWO(extreme_value_distribution, double, _T, _T, a, b, _T __held[2], = 1)
_HATCH_WITH_TWO(binomial_distribution, int, _T, double, t, p, double __held[18], = 0.5)
_HATCH_WITH_TWO(negative_binomial_distribution, int, _T, double, k, p, double __held[10], = 0.5)
_HATCH_WITH_ONE(exponential_distribution, double, _T, _T, lambda, _T __held[1])
_HATCH_WITH_ONE(chi_squared_distribution, double, _T, _T, n, _T __held[9])
_HATCH_WITH_ONE(student_t_distribution, double, _T, _T, n, _T __held[13])
_HATCH_WITH_ONE(geometric_distribution, int, _T, double, p, double __held[2])
_HATCH_WITH_ONE(poisson_distribution, int, _T, double, mean, double __held[13])
#undef _HATCH_WITH_ONE
#undef _HATCH_WITH_TWO

// What is in them has no move of its own in libstdc++.
#define _HATCH_ONLY_COPIED(name)    \
    _HATCH_HD name(const name&);   \
    _HATCH_HD ~name();             \
    _HATCH_HD name& operator=(const name&)
class bernoulli_distribution {
    _HATCH_DISTRIBUTION(bernoulli_distribution, bool, double);
    _HATCH_HD explicit bernoulli_distribution(double);
    _HATCH_HD double p() const;

   private:
    double __held;
};
template <class _T = int>
class discrete_distribution {
    _HATCH_DISTRIBUTION(discrete_distribution, _T, initializer_list<double>);
    _HATCH_HD discrete_distribution(initializer_list<double>);
    template <class _It>
    _HATCH_HD discrete_distribution(_It, _It);
    template <class _F>
    _HATCH_HD discrete_distribution(size_t, double, double, _F);
    _HATCH_ONLY_COPIED(discrete_distribution);
    _HATCH_HD vector<double> probabilities() const;
    _HATCH_BYTES(48);
};
#define _HATCH_PIECES(name, bytes)                                        \
    template <class _T = double>                                   \
    class name {                                                   \
        _HATCH_DISTRIBUTION(name, _T, initializer_list<_T>);       \
        template <class _It, class _W>                             \
        _HATCH_HD name(_It, _It, _W);                              \
        template <class _F>                                        \
        _HATCH_HD name(initializer_list<_T>, _F);                  \
        template <class _F>                                        \
        _HATCH_HD name(size_t, _T, _T, _F);                        \
        _HATCH_ONLY_COPIED(name);                                       \
        _HATCH_HD vector<_T> intervals() const;                    \
        _HATCH_HD vector<double> densities() const;                \
        _HATCH_BYTES(bytes);                                          \
    };
_HATCH_PIECES(piecewise_constant_distribution, 72)
_HATCH_PIECES(piecewise_linear_distribution, 96)
#undef _HATCH_PIECES
#undef _HATCH_ONLY_COPIED
#undef _HATCH_DISTRIBUTION

}  // namespace std

#endif
