// <chrono>, the part about points in time, and the literals. All clocks count the nanoseconds of the GPU's timer.
#ifndef _HATCH_CLOCKS_H
#define _HATCH_CLOCKS_H

#include <chrono>
#include <time.h>

namespace std {

namespace chrono {

template <class _Clock, class _Duration>
class time_point {
   public:
    typedef _Clock clock;
    typedef _Duration duration;
    typedef typename _Duration::rep rep;
    typedef typename _Duration::period period;

    _HATCH_HD constexpr time_point() : __since(_Duration::zero()) {}
    _HATCH_HD constexpr explicit time_point(const _Duration& __d) : __since(__d) {}
    template <class _D, class = enable_if_t<is_convertible<_D, _Duration>::value>>
    _HATCH_HD constexpr time_point(const time_point<_Clock, _D>& __t) : __since(__t.time_since_epoch()) {}
    _HATCH_HD constexpr _Duration time_since_epoch() const { return __since; }
    _HATCH_HD constexpr time_point& operator+=(const _Duration& __d) {
        __since += __d;
        return *this;
    }
    _HATCH_HD constexpr time_point& operator-=(const _Duration& __d) {
        __since -= __d;
        return *this;
    }
    _HATCH_HD static constexpr time_point min() noexcept { return time_point(_Duration::min()); }
    _HATCH_HD static constexpr time_point max() noexcept { return time_point(_Duration::max()); }

   private:
    _Duration __since;
};

template <class _To, class _C, class _D>
_HATCH_HD constexpr time_point<_C, _To> time_point_cast(const time_point<_C, _D>& __t) {
    return time_point<_C, _To>(chrono::duration_cast<_To>(__t.time_since_epoch()));
}
template <class _C, class _D, class _R, class _P>
_HATCH_HD constexpr time_point<_C, common_type_t<_D, duration<_R, _P>>> operator+(const time_point<_C, _D>& __t,
                                                                                  const duration<_R, _P>& __d) {
    return time_point<_C, common_type_t<_D, duration<_R, _P>>>(__t.time_since_epoch() + __d);
}
template <class _C, class _D, class _R, class _P>
_HATCH_HD constexpr time_point<_C, common_type_t<_D, duration<_R, _P>>> operator-(const time_point<_C, _D>& __t,
                                                                                  const duration<_R, _P>& __d) {
    return time_point<_C, common_type_t<_D, duration<_R, _P>>>(__t.time_since_epoch() - __d);
}
template <class _C, class _D, class _E>
_HATCH_HD constexpr common_type_t<_D, _E> operator-(const time_point<_C, _D>& __a, const time_point<_C, _E>& __b) {
    return __a.time_since_epoch() - __b.time_since_epoch();
}
#define _HATCH_COMPARED(op)                                                                                          \
    template <class _C, class _D, class _E>                                                                          \
    _HATCH_HD constexpr bool operator op(const time_point<_C, _D>& __a, const time_point<_C, _E>& __b) {             \
        return __a.time_since_epoch() op __b.time_since_epoch();                                                     \
    }
_HATCH_COMPARED(==)
_HATCH_COMPARED(!=)
_HATCH_COMPARED(<)
_HATCH_COMPARED(>)
_HATCH_COMPARED(<=)
_HATCH_COMPARED(>=)
#undef _HATCH_COMPARED
#if _HATCH_CPP20
template <class _C, class _D, three_way_comparable_with<_D> _E>
_HATCH_HD constexpr auto operator<=>(const time_point<_C, _D>& __a, const time_point<_C, _E>& __b) {
    return __a.time_since_epoch() <=> __b.time_since_epoch();
}
#endif

#define _HATCH_CLOCK(name, steady, more)                                                    \
    struct name {                                                                       \
        typedef nanoseconds duration;                                                   \
        typedef duration::rep rep;                                                      \
        typedef duration::period period;                                                \
        typedef chrono::time_point<name> time_point;                                    \
        static constexpr bool is_steady = steady;                                       \
        more                                                                            \
        _HATCH_HD static time_point now() noexcept {                                    \
            long long __ns;                                                             \
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(__ns));                    \
            return time_point(duration(__ns));                                          \
        }                                                                               \
    };
// As the host counts; of the others, it has none.
#define _HATCH_TIME_T                                      \
    _HATCH_HD static time_t to_time_t(const time_point&);  \
    _HATCH_HD static time_point from_time_t(time_t);
_HATCH_CLOCK(system_clock, false, _HATCH_TIME_T)
_HATCH_CLOCK(steady_clock, true, )
#undef _HATCH_TIME_T
#undef _HATCH_CLOCK
typedef system_clock high_resolution_clock;

}  // namespace chrono

inline namespace literals {
inline namespace chrono_literals {
#define _HATCH_LITERAL(suffix, type, period)                                                                  \
    _HATCH_HD constexpr chrono::type operator""##suffix(unsigned long long __n) { return chrono::type(__n); }   \
    _HATCH_HD constexpr chrono::duration<double, period> operator""##suffix(long double __n) {                  \
        return chrono::duration<double, period>(static_cast<double>(__n));                                    \
    }
_HATCH_LITERAL(h, hours, ratio<3600>)
_HATCH_LITERAL(min, minutes, ratio<60>)
_HATCH_LITERAL(s, seconds, ratio<1>)
_HATCH_LITERAL(ms, milliseconds, milli)
_HATCH_LITERAL(us, microseconds, micro)
_HATCH_LITERAL(ns, nanoseconds, nano)
#undef _HATCH_LITERAL
}  // namespace chrono_literals
}  // namespace literals

namespace chrono {
using namespace literals::chrono_literals;
}  // namespace chrono

}  // namespace std

#endif
