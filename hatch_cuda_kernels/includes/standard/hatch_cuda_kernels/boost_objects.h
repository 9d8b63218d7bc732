// What classes with device code hold of Boost's, whose headers are the host's: the standard's, of the same size.
#ifndef _HATCH_BOOST_OBJECTS_H
#define _HATCH_BOOST_OBJECTS_H

#include <functional>
#include <memory>
#include <mutex>

namespace boost {

template <class _T>
using shared_ptr = std::shared_ptr<_T>;
template <class _T>
using weak_ptr = std::weak_ptr<_T>;
template <class _T>
using scoped_ptr = std::unique_ptr<_T>;
template <class _T>
using enable_shared_from_this = std::enable_shared_from_this<_T>;
template <class _T>
using function = std::function<_T>;
class mutex : public std::mutex {};  // classes, as sources declare them
class recursive_mutex : public std::recursive_mutex {};
using std::make_shared;

}  // namespace boost

#endif
