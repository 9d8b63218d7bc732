// Loads the CUDA kernels of a store that hatch-cuda-kernels built. One header, C++17, no other dependency: NVIDIA's
// driver is opened when a kernel is first loaded (link with -ldl before glibc 2.34), so a program starts without it.
//
//   #include "hatch_cuda_kernels.hpp"
//   HATCH_CUDA_KERNELS_EMBEDDED(mylib_kernels)  // what `hatch-cuda-kernels embed --out mylib_kernels.o` wrote
//
//   auto store = hatch_cuda_kernels::Store::embedded(mylib_kernels, mylib_kernels_size);
//   auto saxpy = store.get_kernel("saxpy");     // loaded for the current context; NoImageError says why not
//   saxpy.launch({blocks, 256, 0, stream}, y, x, n, 2.0f);  // checked against the kernel's C++ types
//
// Everything here may be used by several threads. A store keeps its kernels loaded, and each Kernel keeps its store.
// All errors are of the class Error and say what to do. Nothing in a store is trusted: see "Files" below.
//
// Written by hatch-cuda-kernels @version@: do not edit it.
// `hatch-cuda-kernels vendor --language c++ --check FILE` says whether it is old.
#ifndef HATCH_CUDA_KERNELS_HPP
#define HATCH_CUDA_KERNELS_HPP
#define HATCH_CUDA_KERNELS_VERSION "@version@"
#define HATCH_CUDA_KERNELS_STORE_SCHEMA "@schema@"
#define HATCH_CUDA_KERNELS_REVISION r@revision@
#define HATCH_CUDA_KERNELS_TEXT_SHA256 "@digest@"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#define HATCH_CUDA_KERNELS_API __stdcall
#else
#include <dlfcn.h>
#define HATCH_CUDA_KERNELS_API
#endif

/// Declares what `embed` wrote, by the name that it gave it (by default, the name of the file).
#define HATCH_CUDA_KERNELS_EMBEDDED(name)        \
  extern "C" {                                   \
  extern const unsigned long long name[];        \
  extern const unsigned long long name##_size;   \
  }

namespace hatch_cuda_kernels {
// Two libraries of one process may have this header in two versions: each has its own symbols.
inline namespace HATCH_CUDA_KERNELS_REVISION {

/// Major and minor: a compute capability, a CUDA version, a version of PTX.
using Version = std::pair<unsigned, unsigned>;

namespace detail {
template <class T>
void add(std::string& text, const T& part) {
  if constexpr (std::is_same_v<T, Version>) text += std::to_string(part.first) + "." + std::to_string(part.second);
  else if constexpr (std::is_integral_v<T>) text += std::to_string(part);
  else text += part;
}

/// One text of texts, numbers and versions.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string text;
  (add(text, parts), ...);
  return text;
}
}  // namespace detail

/// An image that was considered for a kernel, and why it was taken or not.
struct Candidate {
  std::string origin;  ///< "prebuilt", or "jitted" for the compile that this loader does not do
  std::string arch;    ///< such as "sm_90a"
  std::string kind;    ///< "cubin" or "ptx"
  bool accepted = false;
  std::string reason;

  std::string text() const {
    return detail::cat(accepted ? "accepted " : "refused  ", origin, " ", arch, " ", kind, ": ", reason);
  }
};

// ---------------------------------------------------------------------------------------------------------- Errors

/// Base of all errors here; what() ends with what to do.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A store is missing, damaged, or written by a newer version.
struct StoreError : Error {
  StoreError(std::string at, const std::string& message) : Error(at + ": " + message), path(std::move(at)) {}
  std::string path;
};

/// The store has nothing of that name, or several things (`is_ambiguous`); `known` names what there is.
struct NotFoundError : Error {
  NotFoundError(const std::string& message, std::string_view of, std::vector<std::string> all = {}, bool several = false)
      : Error(message), name(of), known(std::move(all)), is_ambiguous(several) {}
  std::string name;
  std::vector<std::string> known;
  bool is_ambiguous;
};

/// No image of the kernel runs on the device: every candidate with its reason, and what would help.
struct NoImageError : Error {
  NoImageError(const std::string& message, std::string of, std::string on, std::vector<Candidate> considered,
               std::vector<std::string> help)
      : Error(message), kernel(std::move(of)), arch(std::move(on)), candidates(std::move(considered)), fixes(std::move(help)) {}
  std::string kernel, arch;
  std::vector<Candidate> candidates;
  std::vector<std::string> fixes;
};

/// A call of the driver failed; `code` is its CUresult, -1 if there is no driver or it is too old.
struct DriverError : Error {
  DriverError(const std::string& message, std::string of, int status) : Error(message), call(std::move(of)), code(status) {}
  std::string call;
  int code;
};

/// A launch was refused before it reached the driver: a size that no launch can have.
struct LaunchError : Error {
  using Error::Error;
};

/// An argument does not fit the kernel's parameter; `index` is that of the first one, or the count if that is wrong.
struct ArgumentError : LaunchError {
  ArgumentError(const std::string& message, std::size_t at) : LaunchError(message), index(at) {}
  std::size_t index;
};

namespace detail {

/// What is wrong with a text; who reads it says which file it is of.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* message) {
  if (!holds) throw Malformed(message);
}

/// The character at a place, NUL beyond the end.
inline char char_at(std::string_view text, std::size_t at) { return at < text.size() ? text[at] : '\0'; }

inline bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

inline bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

inline std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; !text.empty();) {
    const std::size_t end = std::min(text.find(mark, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    if (end == text.size()) break;
    at = end + 1;
  }
  return parts;
}

inline std::string join(const std::vector<std::string>& parts, const char* mark, std::size_t most = 20) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), most); ++i) text += (i ? mark : "") + parts[i];
  return parts.size() > most ? cat(text, mark, parts.size() - most, " more") : text;
}

// ------------------------------------------------------------------------------------------------------------ Text

/// The bytes of the code point at a place: 0 if these are not UTF-8. Overlong forms and surrogates are not.
inline std::size_t code_point(std::string_view text, std::size_t at, std::uint32_t* value = nullptr) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at);
  const std::size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || size > text.size() - at) return 0;
  std::uint32_t found = size == 1 ? first : first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    found = found << 6 | (byte(at + i) & 0x3F);
  }
  const bool is_overlong = (size == 3 && found < 0x800) || (size == 4 && (found < 0x10000 || found > 0x10FFFF));
  if (is_overlong || (found >= 0xD800 && found < 0xE000)) return 0;
  if (value) *value = found;
  return size;
}

/// Whether this is UTF-8 without NUL: what a C string and the name of a file can hold.
inline bool is_text(std::string_view text) {
  for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
    size = text[at] == '\0' ? 0 : code_point(text, at);
    if (size == 0) return false;
  }
  return true;
}

/// Whether this is a relative path that leads out of its folder on no system.
inline bool is_inner_path(std::string_view path) {
  if (path.empty() || !is_text(path) || path[0] == '/' || path[0] == '\\' || char_at(path, 1) == ':') return false;
  std::string same(path);
  std::replace(same.begin(), same.end(), '\\', '/');
  const std::vector<std::string> parts = split(same, '/');
  return std::find(parts.begin(), parts.end(), "..") == parts.end();
}

inline bool is_file_name(std::string_view name) {
  return is_inner_path(name) && name != "." && name.find_first_of("/\\") == name.npos;
}

/// A JSON value: a part of a text that was checked as a whole, so that nothing is kept of what nobody asks for. It
/// lives as long as the text.
class Json {
 public:
  static Json parse(std::string_view text) {
    for (std::size_t at = 0, size = 0; at < text.size(); at += size)
      require((size = code_point(text, at)) != 0, "it is not UTF-8");
    const std::size_t at = space(text, 0), end = skip(text, at, 0);
    require(space(text, end) == text.size(), "something comes after its JSON");
    return Json(text.substr(at, end - at));
  }

  std::string_view raw() const { return text_; }
  bool is_list() const { return text_[0] == '['; }
  bool is_string() const { return text_[0] == '"'; }

  /// Gives each name of an object and its value to `take`, or each value of a list.
  template <class Take>
  void each(Take take) const {
    require(text_[0] == '{' || text_[0] == '[', "an object or a list is missing or damaged");
    for (std::size_t at = space(text_, 1), end = 0; text_[at] != '}' && text_[at] != ']';) {
      std::string name;
      if (text_[0] == '{') {
        end = skip_string(text_, at);
        name = decoded(text_.substr(at, end - at));
        at = space(text_, space(text_, end) + 1);
      }
      end = skip(text_, at, 0);
      take(name, Json(text_.substr(at, end - at)));
      at = space(text_, end);
      if (text_[at] == ',') at = space(text_, at + 1);
    }
  }

  /// The value of a name in an object; of one that is there twice, the last one.
  std::optional<Json> get(std::string_view name) const {
    require(text_[0] == '{', "an object is missing or damaged");
    std::optional<Json> found;
    each([&](const std::string& key, Json value) {
      if (key == name) found = value;
    });
    return found;
  }

  Json at(std::string_view name) const {
    const std::optional<Json> found = get(name);
    if (!found) throw Malformed(cat(name, " is missing"));
    return *found;
  }

  /// A string without NUL and lone surrogates.
  std::string text() const {
    require(is_string(), "a text is missing or damaged");
    std::string found = decoded(text_);
    require(is_text(found), "a text has a NUL or half a character");
    return found;
  }

  /// An integer from 0 to 2^40 - 1, the most that the format has.
  std::uint64_t size() const {
    std::uint64_t value = 0;
    for (const char digit : text_) {
      require(digit >= '0' && digit <= '9', "a size is missing or damaged");
      value = value * 10 + static_cast<std::uint64_t>(digit - '0');
      require(value < std::uint64_t{1} << 40, "a size is beyond 2^40");
    }
    return value;
  }

  bool truth() const {
    require(text_ == "true" || text_ == "false", "a truth value is missing or damaged");
    return text_ == "true";
  }

 private:
  explicit Json(std::string_view text) : text_(text) {}

  static std::size_t space(std::string_view s, std::size_t at) { return std::min(s.find_first_not_of(" \t\n\r", at), s.size()); }

  static std::size_t skip_string(std::string_view s, std::size_t at) {
    require(char_at(s, at) == '"', "its JSON is damaged");
    for (++at; at < s.size() && s[at] != '"'; ++at) {
      require(static_cast<unsigned char>(s[at]) >= 0x20, "its JSON is damaged");
      if (s[at] != '\\') continue;
      const char escape = char_at(s, ++at);
      require(std::string_view("\"\\/bfnrtu").find(escape) != s.npos, "its JSON is damaged");
      for (int i = 0; escape == 'u' && i < 4; ++i) require(hex(char_at(s, ++at)) < 16, "its JSON is damaged");
    }
    require(at < s.size(), "its JSON is cut short");
    return at + 1;
  }

  static std::size_t skip_digits(std::string_view s, std::size_t at) {
    const std::size_t end = std::min(s.find_first_not_of("0123456789", at), s.size());
    require(end > at, "its JSON is damaged or cut short");
    return end;
  }

  static std::size_t skip_number(std::string_view s, std::size_t at) {
    if (char_at(s, at) == '-') ++at;
    at = char_at(s, at) == '0' ? at + 1 : skip_digits(s, at);
    if (char_at(s, at) == '.') at = skip_digits(s, at + 1);
    if (char_at(s, at) != 'e' && char_at(s, at) != 'E') return at;
    const char sign = char_at(s, ++at);
    return skip_digits(s, sign == '+' || sign == '-' ? at + 1 : at);
  }

  /// The end of the value at a place. Its depth is bounded, and so is the stack that it takes.
  static std::size_t skip(std::string_view s, std::size_t at, int depth) {
    const char open = char_at(s, at), close = open == '{' ? '}' : ']';
    if (open == '"') return skip_string(s, at);
    for (const std::string_view word : {"true", "false", "null"})
      if (s.compare(at, word.size(), word) == 0) return at + word.size();
    if (open != '{' && open != '[') return skip_number(s, at);
    require(depth < 200, "its JSON is nested too deeply");
    at = space(s, at + 1);
    if (char_at(s, at) == close) return at + 1;
    for (;; at = space(s, at + 1)) {
      if (open == '{') {
        at = space(s, skip_string(s, at));
        require(char_at(s, at) == ':', "its JSON is damaged");
        at = space(s, at + 1);
      }
      at = space(s, skip(s, at, depth + 1));
      if (char_at(s, at) == close) return at + 1;
      require(char_at(s, at) == ',', "its JSON is damaged or cut short");
    }
  }

  static std::uint32_t hex(char digit) {
    const std::size_t value = std::string_view("0123456789abcdef").find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit | 0x20) : digit);
    return static_cast<std::uint32_t>(std::min<std::size_t>(value, 16));
  }

  static std::uint32_t unit(std::string_view s, std::size_t at) {
    return hex(s[at]) << 12 | hex(s[at + 1]) << 8 | hex(s[at + 2]) << 4 | hex(s[at + 3]);
  }

  /// The text of a string that was checked; a lone surrogate becomes three bytes that are no UTF-8.
  static std::string decoded(std::string_view s) {
    std::string out;
    for (std::size_t at = 1; at + 1 < s.size(); ++at) {
      if (s[at] != '\\') {
        out += s[at];
      } else if (s[++at] != 'u') {
        const std::size_t which = std::string_view("bfnrt").find(s[at]);
        out += which == s.npos ? s[at] : "\b\f\n\r\t"[which];
      } else {
        std::uint32_t value = unit(s, at + 1);
        at += 4;
        const bool is_pair = value >= 0xD800 && value < 0xDC00 && s.compare(at + 1, 2, "\\u") == 0;
        const std::uint32_t low = is_pair ? unit(s, at + 3) : 0;
        if (low >= 0xDC00 && low < 0xE000) {
          value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
          at += 6;
        }
        const int more = value < 0x80 ? 0 : value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
        out += static_cast<char>((more == 0 ? 0u : 0xF00u >> (more + 1) & 0xF0u) | value >> (6 * more));
        for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80u | (value >> (6 * i) & 0x3Fu));
      }
    }
    return out;
  }

  std::string_view text_;
};

/// The SHA-256 of bytes in hexadecimal (FIPS 180-4).
inline std::string sha256(std::string_view data) {
  static constexpr std::array<std::uint32_t, 64> k{
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  std::array<std::uint32_t, 8> h{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto block = [&h](const unsigned char* p) {
    const auto turn = [](std::uint32_t x, int n) { return x >> n | x << (32 - n); };
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i, p += 4)
      w[i] = static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
             static_cast<std::uint32_t>(p[2]) << 8 | static_cast<std::uint32_t>(p[3]);
    for (std::size_t i = 16; i < 64; ++i)
      w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
             (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    auto [a, b, c, d, e, f, g, z] = h;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t = z + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
      const std::uint32_t u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      z = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += z;
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  const std::size_t whole = data.size() / 64 * 64, rest = data.size() - whole, padded = rest < 56 ? 64 : 128;
  for (std::size_t at = 0; at < whole; at += 64) block(bytes + at);
  std::array<unsigned char, 128> tail{};
  if (rest) std::memcpy(tail.data(), bytes + whole, rest);
  tail[rest] = 0x80;
  for (std::size_t i = 0; i < 8; ++i) tail[padded - 1 - i] = static_cast<unsigned char>(std::uint64_t{data.size()} * 8 >> (8 * i));
  for (std::size_t at = 0; at < padded; at += 64) block(tail.data() + at);
  std::string text;
  for (const std::uint32_t word : h)
    for (int i = 28; i >= 0; i -= 4) text += "0123456789abcdef"[word >> i & 15];
  return text;
}

// ----------------------------------------------------------------------------------------------------------- Names
// The key of a name is its spelling without spaces, except where C++ tokens would run together.

/// Whether a name may go on with this code point. Beyond ASCII, all but spaces, punctuation and arrows count as letters.
inline bool is_word(std::uint32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA || c == 0xB2 || c == 0xB3 || c == 0xB9 || (c > 0xBB && c < 0xBF);
  const bool is_space = c == 0x1680 || (c >= 0x3000 && c < 0x3005) || c == 0xFEFF || c == 0xFFFD;
  return c != 0xD7 && c != 0xF7 && !is_space && !(c >= 0x2000 && c < 0x2070) && !(c >= 0x2190 && c < 0x2460);
}

/// The bytes of the code point at a place if a name may go on with it, else 0.
inline std::size_t word_size(std::string_view s, std::size_t at) {
  std::uint32_t value = 0;
  const std::size_t size = at < s.size() ? code_point(s, at, &value) : 0;
  return size != 0 && is_word(value) ? size : 0;
}

inline std::size_t word_end(std::string_view s, std::size_t at) {
  while (const std::size_t size = word_size(s, at)) at += size;
  return at;
}

inline bool is_one_of(char c, std::string_view characters) { return c != '\0' && characters.find(c) != characters.npos; }

/// The end of the character or string literal at a place; that place if there is none.
inline std::size_t literal_end(std::string_view s, std::size_t begin) {
  std::size_t at = begin + (s.compare(begin, 2, "u8") == 0 ? 2 : is_one_of(s[begin], "uUL") ? 1 : 0);
  const std::string_view rest = s.substr(at);
  if (starts_with(rest, "R\"")) {
    const std::size_t open = rest.find_first_of("( \t\n\v\f\r", 2);
    const bool is_raw = open != rest.npos && rest[open] == '(' && open <= 18;
    const std::string close = is_raw ? cat(")", rest.substr(2, open - 2), "\"") : "";
    const std::size_t end = is_raw ? rest.find(close, open + 1) : rest.npos;
    if (end != rest.npos) return word_end(s, at + end + close.size());
  }
  if (!is_one_of(char_at(rest, 0), "'\"")) return begin;
  for (++at; at < s.size() && s[at] != rest[0]; ++at)
    if (s[at] == '\\' && (++at >= s.size() || s[at] == '\n')) return begin;
  return at < s.size() ? word_end(s, at + 1) : begin;
}

/// The end of the C++ token at a place that is no space.
inline std::size_t token_end(std::string_view s, std::size_t at) {
  if (const std::size_t end = literal_end(s, at); end != at) return end;
  if (is_one_of(s[at], "0123456789") || (s[at] == '.' && is_one_of(char_at(s, at + 1), "0123456789"))) {
    for (at += s[at] == '.' ? std::size_t{2} : std::size_t{1}; at < s.size();) {
      const std::size_t mark = s[at] == '\'' ? 1 : 0;  // between digits
      const bool is_exponent = is_one_of(s[at], "eEpP") && is_one_of(char_at(s, at + 1), "+-");
      const std::size_t size = s[at] == '.' ? 1 : is_exponent ? 2 : word_size(s, at + mark);
      if (size == 0) break;
      at += size + mark;
    }
    return at;
  }
  if (const std::size_t end = word_end(s, at); end != at) return end;
  const std::string_view rest = s.substr(at);
  for (const std::string_view three : {"<=>", "->*", "...", "<<=", ">>="})
    if (starts_with(rest, three)) return at + 3;
  if (starts_with(rest, "<:") && (char_at(rest, 2) != ':' || is_one_of(char_at(rest, 3), ":>"))) return at + 2;
  for (const std::string_view two : {":>", "<%", "%>", "%:", "->", ".*", "++", "--", "<<", ">>", "&&", "||", "::", "##", "/*", "//"})
    if (starts_with(rest, two)) return at + 2;
  if (is_one_of(rest[0], "-+*/%^&|=<>!") && char_at(rest, 1) == '=') return at + 2;
  return at + std::max<std::size_t>(code_point(s, at), 1);
}

/// The tokens of a text as they stand there.
inline std::vector<std::string_view> raw_tokens(std::string_view s) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0, end = 0; at < s.size(); at = end) {
    const bool is_space = is_one_of(s[at], " \t\n\v\f\r");
    end = is_space ? at + 1 : token_end(s, at);
    if (!is_space) found.push_back(s.substr(at, end - at));
  }
  return found;
}

inline int depth_step(std::string_view token) {
  return token.size() != 1 ? 0 : is_one_of(token[0], "([{") ? 1 : is_one_of(token[0], ")]}") ? -1 : 0;
}

/// The tokens of a name, where >> outside parentheses closes two lists of template arguments.
inline std::vector<std::string_view> tokens(std::string_view s) {
  std::vector<std::string_view> found;
  int depth = 0;
  for (std::string_view token : raw_tokens(s)) {
    if (token == ">>" && depth == 0) found.push_back(token = token.substr(1));
    found.push_back(token);
    depth += depth_step(token);
  }
  return found;
}

inline bool runs_together(std::string_view first, std::string_view second) {
  const std::string both = std::string(first) + std::string(second);
  const std::vector<std::string_view> found = raw_tokens(both);
  return (!first.empty() && !(found.size() == 2 && found[0] == first)) || (first == "." && second == ".");
}

inline std::string key_of(std::string_view name) {
  std::string key;
  std::string_view last;
  int depth = 0;
  for (const std::string_view token : tokens(name)) {
    const bool closes_two = token == ">" && last == ">" && depth == 0;
    if (runs_together(last, token) && !closes_two) key += ' ';
    key += last = token;
    depth += depth_step(token);
  }
  return key;
}

/// The key of a template's name: without what is in <> and (), and without leading & and :.
inline std::string template_of(std::string_view key) {
  std::string plain;  // without literals, which may hold brackets
  for (const std::string_view token : tokens(key)) plain += cat(token.find_first_of("'\"") == token.npos ? token : "0", " ");
  std::string kept, closing;
  for (const char c : key_of(plain)) {
    const bool opens = c == '(' || (c == '<' && (closing.empty() || closing.back() == '>'));
    if (!closing.empty() && c == closing.back()) closing.pop_back();
    else if (opens) closing += c == '(' ? ')' : '>';
    else if (closing.empty()) kept += c;
  }
  return kept.substr(std::min(kept.find_first_not_of("&:"), kept.size()));
}

// --------------------------------------------------------------------------------------------------- Architectures
// As in the package; sources of the rules: CUDA C++ Programming Guide, "Binary compatibility", "PTX compatibility" and
// "Feature set compiler targets"; the release notes of the PTX ISA for the table of versions.

/// A number in decimal; what no version reaches is all the same.
inline unsigned number(std::string_view digits) {
  unsigned value = 0;
  require(!digits.empty(), "a version is missing or damaged");
  for (const char digit : digits) {
    require(digit >= '0' && digit <= '9', "a version is missing or damaged");
    value = std::min(value * 10 + static_cast<unsigned>(digit - '0'), 100'000'000u);
  }
  return value;
}

inline Version parse_version(std::string_view text) {
  const std::size_t dot = text.find('.');
  require(dot != text.npos, "a version is missing or damaged");
  return {number(text.substr(0, dot)), number(text.substr(dot + 1))};
}

struct Arch {
  std::string text;
  Version capability;
  char suffix = '\0';  ///< 'a': architecture-specific, 'f': family-specific
  bool is_virtual = false;

  static Arch parse(const std::string& text) {
    Arch arch{text, {}, '\0', starts_with(text, "compute_")};
    std::string_view rest = text;
    require(arch.is_virtual || starts_with(rest, "sm_"), "an architecture is unknown");
    rest.remove_prefix(arch.is_virtual ? 8 : 3);
    if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
      arch.suffix = rest.back();
      rest.remove_suffix(1);
    }
    require(rest.size() > 1 && rest[0] != '0', "an architecture is unknown");
    arch.capability = {number(rest.substr(0, rest.size() - 1)), number(rest.substr(rest.size() - 1))};
    return arch;
  }

  /// Why code for this cannot run on a device, by the table; empty if it can.
  std::string refusal(const Version& device) const {
    const Version& own = capability;
    if (own == device) return "";
    if (suffix == 'a') return cat("architecture-specific code for ", own, " runs on no other device");
    if (suffix == 'f' && device.first != own.first) return cat("family-specific code for ", own.first, ".x runs on no other family");
    if (suffix == 'f' || is_virtual) return own <= device ? "" : cat("needs compute capability ", own, " or higher");
    if (device.first != own.first) return cat("a CUBIN for ", own, " never runs on another major");
    if (device.second < own.second) return cat("a CUBIN for ", own, " never runs on a lower minor (", device, ")");
    if (is_integrated(own) || is_integrated(device))
      return cat("integrated (Tegra) parts are promised exact CUBINs only (", own, " is not ", device, ")");
    return "";
  }

  /// Whether only the driver can say if a plain CUBIN of a lower minor, which the table refuses, runs on a device.
  bool is_trial(const Version& device) const {
    const bool is_lower = capability.first == device.first && capability.second < device.second;
    return is_lower && suffix == '\0' && !is_virtual && !refusal(device).empty();
  }

  /// What sorts images that may run, best first: `a`, exact, `f`, then the highest base.
  std::pair<int, long long> preference(const Version& device) const {
    const long long base = -(10LL * capability.first + capability.second);
    if (suffix == 'a') return {0, base};
    if (capability == device) return {suffix == '\0' ? 1 : 2, base};
    return {suffix == '\0' ? 3 : 2, base};
  }

 private:
  static bool is_integrated(const Version& part) {
    for (const Version& known : {Version{5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}, {11, 0}})
      if (part == known) return true;
    return false;
  }
};

/// The newest PTX that a driver for a CUDA version knows; none for a driver that is newer than this table.
inline std::optional<Version> newest_isa(const Version& driver) {
  if (driver.first < 11) return Version{6, 0};
  if (driver.first == 11) return Version{7, driver.second};
  if (driver.first == 12) return Version{8, driver.second < 6 ? driver.second : driver.second - 1};
  return driver.first == 13 ? std::optional<Version>({9, driver.second}) : std::nullopt;
}

// ----------------------------------------------------------------------------------------------------------- Files
// A store is a folder, or a table in memory. Whoever can change it can run code on the device, but nothing in it makes
// this loader read outside the folder or the table, recurse without bound, or take more memory than its files have.

/// The bytes of a file. A NUL follows them, as the driver needs for PTX.
struct Content {
  std::string_view bytes;
  std::shared_ptr<const std::string> owner;  ///< of bytes that were read; empty for those in memory
};

class Files {
 public:
  explicit Files(std::string label_) : label(std::move(label_)) {}
  virtual ~Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  virtual bool has(const std::string& path) const = 0;
  /// The content of a file by its inner path, of at most so many bytes. Throws Malformed.
  virtual Content read(const std::string& path, std::uint64_t most = std::uint64_t{1} << 40) const = 0;

  const std::string label;  ///< in messages
};

class Folder final : public Files {
 public:
  using Files::Files;

  bool has(const std::string& path) const override {
    std::error_code error;
    return std::filesystem::is_regular_file(place(path), error);
  }

  Content read(const std::string& path, std::uint64_t most) const override {
    std::error_code error;
    const std::filesystem::path file = place(path);
    require(std::filesystem::is_regular_file(file, error), "there is no such file; install the package again");
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    require(!error && size <= most, "it is larger than it should be; install the package again");
    const auto data = std::make_shared<std::string>(static_cast<std::size_t>(size), '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.read(data->data(), static_cast<std::streamsize>(size));
    require(stream.gcount() == static_cast<std::streamsize>(size), "it cannot be read; look at its permissions");
    return {*data, data};
  }

 private:
  std::filesystem::path place(const std::string& path) const { return from_utf8(label) / from_utf8(path); }

  static std::filesystem::path from_utf8(const std::string& path) {
#ifdef __cpp_lib_char8_t
    return std::filesystem::path(std::u8string(path.begin(), path.end()));
#else
    return std::filesystem::u8path(path);
#endif
  }
};

/// The table that `embed` writes (docs/reference/store.md, "Embedded stores").
class Embedded final : public Files {
 public:
  Embedded(const void* data, std::uint64_t size) : Files("the embedded store"), data_(static_cast<const char*>(data)) {
    const bool has_head = data != nullptr && size >= head_size;
    if (!has_head || std::memcmp(data, "HCKSTORE", 8) != 0 || at<std::uint32_t>(8) != 1)
      throw StoreError(label, "this is no table that this version reads; embed the store again");
    size_ = at<std::uint64_t>(16);
    count_ = at<std::uint32_t>(12);
    if (size_ > size || size_ < head_size || count_ > (size_ - head_size) / row_size)
      throw StoreError(label, "its table is damaged; embed the store again");
  }

  bool has(const std::string& path) const override { return find(path) != count_; }

  Content read(const std::string& path, std::uint64_t) const override {
    const std::uint64_t row = find(path);
    require(row != count_, "there is no such file; embed the store again");
    return {part(row, 16), nullptr};
  }

 private:
  static constexpr std::uint64_t head_size = 24, row_size = 32;

  template <class T>
  T at(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }

  /// The bytes that two numbers of a row say: an offset and a size. They must be in the table, with the NUL after them.
  std::string_view part(std::uint64_t row, std::uint64_t field) const {
    const std::uint64_t place = head_size + row * row_size + field;
    const std::uint64_t begin = at<std::uint64_t>(place), size = at<std::uint64_t>(place + 8);
    require(begin < size_ && size < size_ - begin && data_[begin + size] == '\0', "the table is damaged; embed it again");
    return {data_ + begin, static_cast<std::size_t>(size)};
  }

  std::uint64_t find(const std::string& path) const {
    std::uint64_t low = 0, high = count_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const std::string_view name = part(middle, 0);
      if (name == path) return middle;
      (name < path ? low : high) = name < path ? middle + 1 : middle;
    }
    return count_;
  }

  const char* data_;
  std::uint64_t size_ = 0, count_ = 0;
};

/// A kernel or a variable as kernels.tsv lists it.
struct Line {
  std::string key, module, lowered;
  std::vector<std::string> params;
  std::string name;
  std::vector<std::string> types, names;

  static Line parse(std::string_view line) {
    const std::vector<std::string> fields = split(line, '\t');
    require(is_text(line) && fields.size() >= 5 && fields.size() <= 7 && is_file_name(fields[1]), "a line is damaged");
    const auto field = [&](std::size_t i) { return i < fields.size() ? fields[i] : std::string(); };
    return {fields[0], fields[1], fields[2], split(fields[3], ','), fields[4], split(field(5), ';'), split(field(6), ',')};
  }
};

/// The manifest's name of a module, for its second and later programs too.
inline std::string listed_module(const std::string& module) { return module.substr(0, module.find('.')); }

/// An image as index.json describes it.
struct Record {
  std::string file, kind, sha256;
  Arch arch;
  std::uint64_t bytes = 0;
  Version isa;
  std::vector<std::string> lacks;
  bool renames = false, is_packed = false;
  std::string path;  ///< relative to the store

  static Record parse(const std::string& module, const Json& data) {
    Record record{data.at("file").text(), data.at("kind").text(), data.at("sha256").text(), Arch::parse(data.at("arch").text()),
                  data.at("bytes").size(), parse_version(data.at("ptx_isa").text()), {}, false, false, {}};
    require(is_file_name(record.file), "the file of an image is no file name");
    require(record.kind == "cubin" || record.kind == "ptx" || record.kind == "ltoir", "the kind of an image is unknown");
    record.path = module + "/" + record.file;
    if (const auto renames = data.get("renames")) record.renames = renames->truth();
    if (const auto lacks = data.get("lacks")) {
      require(lacks->is_list(), "lacks is no list");
      lacks->each([&](const std::string&, const Json& name) { record.lacks.push_back(name.text()); });
    }
    if (const auto stored = data.get("stored")) {
      record.path = stored->at("file").text();
      record.is_packed = stored->at("size").size() != 0;
      stored->at("at").size(), stored->at("skip").size();
      require(is_inner_path(record.path), "the place of an image is outside the store");
    }
    return record;
  }
};

struct Index {
  std::vector<Record> images;
  bool is_editable = false;

  static Index parse(const std::string& module, std::string_view text) {
    const Json data = Json::parse(text), schema = data.at("schema"), images = data.at("images");
    require(schema.raw() == "1" || schema.raw() == "2",
            "its schema is not 1 or 2: write this header again with the hatch-cuda-kernels that built the store");
    require(data.at("module").text() == module, "it is of another module");
    require(images.is_list(), "its images are missing");
    Index index;
    images.each([&](const std::string&, const Json& image) { index.images.push_back(Record::parse(module, image)); });
    index.is_editable = data.get("editable").has_value();
    return index;
  }
};

// ---------------------------------------------------------------------------------------------------------- Driver

struct LaunchAttribute {
  unsigned id, padding;
  union {
    unsigned dims[3];
    int number;
    char bytes[64];
  } value;
};

/// CUlaunchConfig (cuda.h).
struct DriverLaunch {
  unsigned grid[3], block[3], shared_mem;
  void* stream;
  LaunchAttribute* attributes;
  unsigned count;
};

using Handle = struct OpaqueHandle*;  // CUcontext, CUlibrary, CUkernel, CUfunction

#define HATCH_CUDA_KERNELS_CALLS(X)                                                                          \
  X(cuInit, unsigned)                                                                                        \
  X(cuGetErrorName, int, const char**)                                                                       \
  X(cuDriverGetVersion, int*)                                                                                \
  X(cuDeviceGet, int*, int)                                                                                  \
  X(cuDeviceGetAttribute, int*, int, int)                                                                    \
  X(cuDevicePrimaryCtxRetain, Handle*, int)                                                                  \
  X(cuDevicePrimaryCtxGetState, int, unsigned*, int*)                                                        \
  X(cuCtxGetCurrent, Handle*)                                                                                \
  X(cuCtxSetCurrent, Handle)                                                                                 \
  X(cuCtxGetDevice, int*)                                                                                    \
  X(cuCtxGetId, Handle, unsigned long long*)                                                                 \
  X(cuThreadExchangeStreamCaptureMode, int*)                                                                 \
  X(cuLibraryLoadData, Handle*, const void*, int*, void**, unsigned, int*, void**, unsigned)                 \
  X(cuLibraryUnload, Handle)                                                                                 \
  X(cuLibraryGetKernel, Handle*, Handle, const char*)                                                        \
  X(cuLibraryGetGlobal, unsigned long long*, std::size_t*, Handle, const char*)                              \
  X(cuKernelGetFunction, Handle*, Handle)                                                                    \
  X(cuKernelGetAttribute, int*, int, Handle, int)                                                            \
  X(cuKernelSetAttribute, int, int, Handle, int)                                                             \
  X(cuLaunchKernelEx, const DriverLaunch*, Handle, void**, void**)

/// The calls of the driver, which is opened once and never closed.
struct Driver {
#define HATCH_CUDA_KERNELS_MEMBER(name, ...) int(HATCH_CUDA_KERNELS_API* name)(__VA_ARGS__) = nullptr;
  HATCH_CUDA_KERNELS_CALLS(HATCH_CUDA_KERNELS_MEMBER)
#undef HATCH_CUDA_KERNELS_MEMBER
  int(HATCH_CUDA_KERNELS_API* cuKernelGetParamInfo)(Handle, std::size_t, std::size_t*, std::size_t*) = nullptr;  ///< from 12.4 on
  Version version;
  bool is_ending = false;  ///< whether the process ends, and the driver perhaps before this

  /// Throws DriverError without a driver or a device.
  static Driver& get() {
    static Driver& driver = *new Driver;  // used by destructors of objects that may outlive every static one
    static const struct AtExit {
      ~AtExit() { driver.is_ending = true; }
    } at_exit;
    return driver;
  }

  std::string name_of(int code) const {
    const char* name = nullptr;
    return cuGetErrorName && cuGetErrorName(code, &name) == 0 && name ? name : "unknown error";
  }

  void check(int code, const std::string& call, const std::string& facts = "") const {
    if (code == 0) return;
    const bool is_fault = code == 214 || code == 220 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
    std::string why = facts;
    if (is_fault)
      why = "an earlier kernel or copy on this device failed, and nothing works in its context any more; to find it, run "
            "with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer";
    if (code == 900 || code == 901)
      why = "a stream is being captured; load what the capture uses before it begins, with get_kernel";
    throw DriverError(cat(call, " failed with ", name_of(code), " (", code, ")", why.empty() ? "" : ": ", why), call, code);
  }

  int attribute(int which, int ordinal) const {
    int value = 0;
    check(cuDeviceGetAttribute(&value, which, ordinal), "cuDeviceGetAttribute");
    return value;
  }

  /// A device's primary context, retained once, and again after a reset.
  Handle primary(int ordinal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int device = 0, is_active = 0;
    unsigned flags = 0;
    check(cuDeviceGet(&device, ordinal), "cuDeviceGet");
    const auto known = primaries_.find(ordinal);
    if (known != primaries_.end()) check(cuDevicePrimaryCtxGetState(device, &flags, &is_active), "cuDevicePrimaryCtxGetState");
    if (is_active) return known->second;
    Handle context = nullptr;
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    return primaries_[ordinal] = context;
  }

  /// The device whose primary context this was when it was retained here; -1 for any other context.
  int ordinal_of(Handle context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [ordinal, primary] : primaries_)
      if (primary == context) return ordinal;
    return -1;
  }

  /// The id of the current context, which no other one ever gets. Without a context, that of device 0 is made current;
  /// a primary context that was reset is retained again.
  unsigned long long context() {
    Handle current = nullptr;
    unsigned long long id = 0;
    const bool is_none = cuCtxGetCurrent(&current) != 0 || current == nullptr;
    const int lost = is_none ? 0 : cuCtxGetId(current, &id);
    if (!is_none && lost == 0) return id;
    const int ordinal = is_none ? 0 : ordinal_of(current);
    if (ordinal < 0) check(lost, "cuCtxGetId", "the current context was destroyed: make another one current");
    current = primary(ordinal);
    check(cuCtxSetCurrent(current), "cuCtxSetCurrent");
    check(cuCtxGetId(current, &id), "cuCtxGetId");
    return id;
  }

  bool is_alive(Handle context, unsigned long long id) const {
    unsigned long long found = 0;
    return cuCtxGetId(context, &found) == 0 && found == id;
  }

 private:
  Driver() {
#ifdef _WIN32
    const HMODULE library = LoadLibraryA("nvcuda.dll");
    const auto find = [&](const char* name) { return reinterpret_cast<void*>(GetProcAddress(library, name)); };
#else
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = [&](const char* name) { return dlsym(library, name); };
#endif
    if (library == nullptr)
      throw DriverError("no CUDA driver here; install NVIDIA's driver; give a container the host's, as docker run --gpus all does",
                        "loading the CUDA driver", -1);
    const auto take = [&](auto& call, const char* name) {
      void* const found = find(name);
      std::memcpy(&call, &found, sizeof call);
      if (found == nullptr)
        throw DriverError(cat("this CUDA driver has no ", name, "; install one for CUDA 12.0 (R525) or newer"), name, -1);
    };
#define HATCH_CUDA_KERNELS_TAKE(name, ...) take(name, #name);
    HATCH_CUDA_KERNELS_CALLS(HATCH_CUDA_KERNELS_TAKE)
#undef HATCH_CUDA_KERNELS_TAKE
    void* const info = find("cuKernelGetParamInfo");
    std::memcpy(&cuKernelGetParamInfo, &info, sizeof cuKernelGetParamInfo);
    check(cuInit(0), "cuInit");
    int number = 0;
    check(cuDriverGetVersion(&number), "cuDriverGetVersion");
    version = {static_cast<unsigned>(number / 1000), static_cast<unsigned>(number % 1000 / 10)};
  }

  std::mutex mutex_;
  std::map<int, Handle> primaries_;
};
#undef HATCH_CUDA_KERNELS_CALLS

/// Allows what a capture forbids: to load images, which allocates memory, but is no part of the graph.
class DuringCapture {
 public:
  explicit DuringCapture(const Driver& driver) : driver_(driver) {
    driver_.check(driver_.cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode");
  }
  ~DuringCapture() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  DuringCapture(const DuringCapture&) = delete;
  DuringCapture& operator=(const DuringCapture&) = delete;

 private:
  const Driver& driver_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED, then what it was
};

/// An image that the driver holds, for all contexts.
class Library {
 public:
  explicit Library(Handle handle_) : handle(handle_) {}
  ~Library() {
    if (!Driver::get().is_ending) Driver::get().cuLibraryUnload(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  const Handle handle;
};

// ------------------------------------------------------------------------------------------------------- Arguments

/// What elements of memory are called, as bits: a float2 is a complex64, or two float32. No bit: anything.
enum Element : unsigned {
  boolean = 1, int8 = 2, uint8 = 4, int16 = 8, uint16 = 16, int32 = 32, uint32 = 64, int64 = 128, uint64 = 256,
  float16 = 1 << 9, float32 = 1 << 10, float64 = 1 << 11, bfloat16 = 1 << 12, float8_e4m3 = 1 << 13,
  float8_e5m2 = 1 << 14, float8_e8m0 = 1 << 15, complex64 = 1 << 16, complex128 = 1 << 17, pointers = 1 << 18
};

/// The elements of a C++ type, by its name.
inline unsigned elements_of(std::string_view type) {
  static const std::map<std::string_view, unsigned> known{
      {"bool", boolean}, {"signed char", int8}, {"short", int16}, {"unsigned short", uint16}, {"int", int32},
      {"unsigned int", uint32}, {"long", int64}, {"unsigned long", uint64}, {"long long", int64},
      {"unsigned long long", uint64}, {"float", float32}, {"double", float64}, {"__half", float16}, {"__half2", float16},
      {"__nv_bfloat16", bfloat16}, {"__nv_bfloat162", bfloat16}, {"__nv_fp8_e4m3", float8_e4m3},
      {"__nv_fp8_e5m2", float8_e5m2}, {"__nv_fp8_e8m0", float8_e8m0}, {"c10::Half", float16},
      {"c10::BFloat16", bfloat16}, {"c10::Float8_e4m3fn", float8_e4m3}, {"c10::Float8_e5m2", float8_e5m2},
      {"dim3", uint32}};
  static const std::map<std::string_view, unsigned> lanes{
      {"char", int8}, {"uchar", uint8}, {"short", int16}, {"ushort", uint16}, {"int", int32}, {"uint", uint32},
      {"long", int64}, {"ulong", uint64}, {"longlong", int64}, {"ulonglong", uint64}, {"float", float32}, {"double", float64}};
  if (const auto found = known.find(type); found != known.end()) return found->second;
  for (const std::string_view of : {"std", "cuda::std", "thrust", "c10"}) {
    if (!starts_with(type, of)) continue;
    if (type.substr(of.size()) == "::complex<float>") return complex64;
    if (type.substr(of.size()) == "::complex<double>") return complex128;
  }
  if (ends_with(type, "*") || ends_with(type, "* const")) return pointers;
  if (ends_with(type, "_16a") || ends_with(type, "_32a")) type.remove_suffix(4);
  const char count = type.empty() ? '0' : type.back();
  if (count < '1' || count > '4') return 0;
  const auto lane = lanes.find(type.substr(0, type.size() - 1));
  if (lane == lanes.end()) return 0;
  if (count == '2' && lane->second == float32) return float32 | complex64;
  if (count == '2' && lane->second == float64) return float64 | complex128;
  return lane->second;
}

/// The name of a type as the compiler spells it.
template <class T>
std::string_view type_name() {
#ifdef _MSC_VER
  std::string_view text = __FUNCSIG__;
  text = text.substr(text.find("type_name<") + 10);
  text = text.substr(0, text.rfind(">(void)"));
  for (const std::string_view word : {"class ", "struct ", "enum "})
    if (starts_with(text, word)) text.remove_prefix(word.size());
#else
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, std::min(text.find("; std::string_view"), text.size() - 1));
#endif
  return text;
}

/// The elements of what a host's pointer points to.
template <class T>
unsigned host_elements() {
  if constexpr (std::is_void_v<T> || std::is_same_v<T, char> || std::is_same_v<T, unsigned char> || std::is_same_v<T, std::byte>)
    return 0;
  else if constexpr (std::is_same_v<T, bool>)
    return boolean;
  else if constexpr (std::is_integral_v<T>)
    return (std::is_signed_v<T> ? int8 : uint8) << (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6);
  else if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? float32 : float64;
  else if constexpr (std::is_pointer_v<T>)
    return pointers;
  else {
    static const unsigned elements = elements_of(type_name<T>());
    return elements;
  }
}

enum class Kind { pointer, word, boolean, integer, floating, bytes, unknown };

/// A parameter of a kernel, by PTX's word for it and its C++ type, which is empty if the store does not know it.
struct Parameter {
  std::string ptx, type, name;
  Kind kind = Kind::unknown;
  std::size_t size = 0;
  std::optional<bool> is_signed;  ///< of integers, if it is known
  unsigned elements = 0;  ///< of what a pointer points to
  bool is_const = false;  ///< whether the kernel only reads that

  Parameter(std::string ptx_, std::string type_, std::string name_)
      : ptx(std::move(ptx_)), type(std::move(type_)), name(std::move(name_)) {
    const std::string_view text = type;
    const std::size_t letters = std::min(ptx.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), ptx.size());
    const std::string_view digits = std::string_view(ptx).substr(letters);
    const bool is_struct = starts_with(ptx, "b8[") && ptx.find("]:") < 8;
    try {
      size = ptx == "ptr" ? 8 : is_struct ? number(std::string_view(ptx).substr(3, ptx.find("]:") - 3)) : number(digits) / 8;
    } catch (const Malformed&) {
      return;
    }
    if (is_struct) kind = Kind::bytes;
    if (is_struct) return;
    const char code = ptx[0];
    if (ptx != "ptr" && (letters != 1 || std::string_view("usbf").find(code) == std::string_view::npos)) return;
    if (size != 1 && size != 2 && size != 4 && size != 8) return;
    if (ptx == "ptr" || ends_with(text, "*") || ends_with(text, "&") || ends_with(text, "* const") || text.find("(*") != text.npos)
      kind = size == 8 ? Kind::pointer : Kind::unknown;
    else if (code == 'f')
      kind = size == 2 ? Kind::bytes : size == 1 ? Kind::unknown : Kind::floating;
    else if (type == "bool")
      kind = Kind::boolean;
    else
      kind = type.empty() && size == 8 && code != 's' ? Kind::word : Kind::integer;
    const unsigned own = elements_of(text) | (text == "unsigned char" ? uint8 : 0u);
    if (own & (int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64)) is_signed = (own & (int8 | int16 | int32 | int64)) != 0;
    else if (type.empty() && code == 's') is_signed = true;
    if (kind == Kind::pointer) point(text);
  }

  std::string text() const { return cat(type.empty() ? ptx : type, name.empty() ? "" : " ", name); }

 private:
  /// What it points to; an unsigned integer may also be called a signed one.
  void point(std::string_view text) {
    if (ends_with(text, " const")) text.remove_suffix(6);
    if (!ends_with(text, "*") && !ends_with(text, "&")) return;
    text.remove_suffix(1);
    is_const = ends_with(text, " const") ||
               (starts_with(text, "const ") && !ends_with(text, "*") && !ends_with(text, "&") && !ends_with(text, ")"));
    if (starts_with(text, "const ")) text.remove_prefix(6);
    elements = elements_of(text);
    elements |= (elements & (uint8 | uint16 | uint32 | uint64)) >> 1;
  }
};

/// An argument of a launch: its value or where it is, and what kind of value.
struct Argument {
  enum class Is { pointer, null, integer, floating, bytes } is;
  const void* address;  ///< of bytes: where they are; of a pointer: its value
  std::size_t size;
  std::uint64_t bits;  ///< of an integer, sign-extended
  double value;
  bool is_negative, is_const, is_bool;
  unsigned elements;
  std::string_view (*type)();
};

template <class T>
Argument argument_of(const T& value) {
  Argument made{Argument::Is::bytes, nullptr, sizeof(T), 0, 0, false, false, false, 0, &type_name<T>};
  static_assert(!std::is_array_v<T>, "an array of the host is no memory of the device: pass a pointer to device memory");
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    made.is = Argument::Is::null;
  } else if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    made.is = Argument::Is::pointer;
    made.bits = reinterpret_cast<std::uintptr_t>(value);
    made.is_const = std::is_const_v<Pointee>;
    if constexpr (!std::is_function_v<Pointee>) made.elements = host_elements<std::remove_cv_t<Pointee>>();
  } else if constexpr (std::is_enum_v<T>) {
    made = argument_of(static_cast<std::underlying_type_t<T>>(value));
    made.type = &type_name<T>;
  } else if constexpr (std::is_integral_v<T>) {
    made.is = Argument::Is::integer;
    made.is_bool = std::is_same_v<T, bool>;
    if constexpr (std::is_signed_v<T>) made.is_negative = value < 0;
    made.bits = static_cast<std::uint64_t>(value);
    made.value = static_cast<double>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    made.is = Argument::Is::floating;
    made.value = static_cast<double>(value);
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "a kernel takes the bytes of an argument: they must be copyable");
    made.address = &value;
  }
  return made;
}

/// A kernel's parameters, and the conversion of arguments to them.
class Signature {
 public:
  explicit Signature(const Line& line) : kernel_(line.name) {
    const std::size_t count = line.params.size();
    const auto at = [&](const std::vector<std::string>& of, std::size_t i) { return of.size() == count ? of[i] : std::string(); };
    for (std::size_t i = 0; i < count; ++i) parameters_.emplace_back(line.params[i], at(line.types, i), at(line.names, i));
  }

  /// Writes each argument's value to a place of eight bytes, and where it is to `places`. Throws ArgumentError.
  void convert(const Argument* given, std::size_t count, std::uint64_t* values, void** places) const {
    if (count != parameters_.size())
      throw ArgumentError(cat(kernel_, " takes ", parameters_.size(), " arguments (", text(), "), got ", count), count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = 0;
      places[i] = &values[i];
      if (const std::string why = objection(parameters_[i], given[i], values[i], places[i]); !why.empty()) refuse(i, given[i], why);
    }
  }

  /// The parameters as C++ declares them.
  std::string text() const {
    std::vector<std::string> parts;
    for (const Parameter& one : parameters_) parts.push_back(one.text());
    return join(parts, ", ", parts.size());
  }

  /// Whether these are the parameters of a kernel, as far as its driver tells: of others, it would read past the values.
  bool is_of(const Driver& driver, Handle kernel) const {
    std::size_t offset = 0, size = 0;
    const auto is_there = [&](std::size_t i) { return driver.cuKernelGetParamInfo && driver.cuKernelGetParamInfo(kernel, i, &offset, &size) == 0; };
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (is_there(i) && size != parameters_[i].size) return false;
    return !is_there(parameters_.size());
  }

  bool has_types() const { return !parameters_.empty() && !parameters_[0].type.empty(); }

 private:
  static std::string objection(const Parameter& wanted, const Argument& given, std::uint64_t& value, void*& place) {
    using Is = Argument::Is;
    const bool is_number = given.is == Is::integer || given.is == Is::floating;
    switch (wanted.kind) {
      case Kind::pointer:
      case Kind::word:
        value = given.bits;
        if (given.is == Is::null) return "";
        if (given.is == Is::integer && (wanted.kind == Kind::word || (given.size == 8 && !given.is_bool))) return "";
        if (given.is != Is::pointer) return "pass a pointer, nullptr, or an address as a 64-bit integer";
        if (wanted.elements && given.elements && !(wanted.elements & given.elements))
          return "the elements are of another type; cast to void* if that is meant";
        if (given.is_const && !wanted.is_const && !wanted.type.empty()) return "the kernel may write to it";
        return "";
      case Kind::boolean:
        value = given.bits;
        return given.is == Is::integer && given.bits <= 1 ? "" : "it is neither true nor false";
      case Kind::integer: {
        if (given.is != Is::integer) return "it is no integer";
        const unsigned bits = static_cast<unsigned>(8 * wanted.size), half = bits - 1;
        const bool is_signed = wanted.is_signed.value_or(false);
        const std::uint64_t most = is_signed ? (std::uint64_t{1} << half) - 1 : ~std::uint64_t{0} >> (64 - bits);
        const std::uint64_t least = ~std::uint64_t{0} << half;  // as a negative number
        const bool fits = given.is_negative ? wanted.is_signed.value_or(true) && given.bits >= least : given.bits <= most;
        value = given.bits;
        return fits ? "" : "it is out of range";
      }
      case Kind::floating:
        if (!is_number) return "it is no number";
        if (wanted.size == 8) return std::memcpy(&value, &given.value, 8), "";
        if (std::isfinite(given.value) && std::fabs(given.value) > std::numeric_limits<float>::max()) return "it is out of range";
        {
          const float narrow = static_cast<float>(given.value);
          std::memcpy(&value, &narrow, sizeof narrow);
        }
        return "";
      case Kind::bytes:
        if (given.is != Is::bytes) return cat("it is no struct of ", wanted.size, " bytes");
        place = const_cast<void*>(given.address);  // the driver only reads it
        return given.size == wanted.size ? "" : cat("it has ", given.size, " bytes instead of ", wanted.size);
      case Kind::unknown: break;
    }
    return "this version does not know the type: write this header again with a newer hatch-cuda-kernels";
  }

  [[noreturn]] void refuse(std::size_t i, const Argument& given, const std::string& why) const {
    const Parameter& wanted = parameters_[i];
    std::string value;
    if (given.is == Argument::Is::integer) value = cat(given.is_negative ? "-" : "", given.is_negative ? ~given.bits + 1 : given.bits, ", ");
    if (given.is == Argument::Is::floating) {
      char text[32];
      std::snprintf(text, sizeof text, "%.6g, ", given.value);
      value = text;
    }
    const std::string name = wanted.name.empty() ? "" : cat(" (", wanted.name, ")"), type = wanted.type.empty() ? wanted.ptx : wanted.type;
    throw ArgumentError(cat("argument ", i, name, " of ", kernel_, " is ", type, ", got ", value, key_of(given.type()), ": ", why), i);
  }

  std::string kernel_;
  std::vector<Parameter> parameters_;
};
}  // namespace detail

// ---------------------------------------------------------------------------------------------------- What you use

/// One to three sizes of a grid, a block or a cluster, of any integer types.
class Dim {
 public:
  template <class X, class Y = int, class Z = int,
            class = std::enable_if_t<std::is_integral_v<X> && std::is_integral_v<Y> && std::is_integral_v<Z>>>
  constexpr Dim(X first, Y second = 1, Z third = 1) : sizes_{size(first), size(second), size(third)} {}  // NOLINT: 256 is a block

  constexpr std::uint64_t operator[](std::size_t axis) const { return sizes_[axis]; }

 private:
  template <class T>
  static constexpr std::uint64_t size(T value) {
    if constexpr (std::is_signed_v<T>)
      if (value < 0) return std::numeric_limits<std::uint64_t>::max();  // refused by the launch
    return static_cast<std::uint64_t>(value);
  }
  std::array<std::uint64_t, 3> sizes_;
};

/// What a launch states besides its arguments. The stream is a CUstream or cudaStream_t; nullptr is the default one.
struct LaunchConfig {
  LaunchConfig(Dim grid_, Dim block_, std::size_t shared_mem_ = 0, void* stream_ = nullptr)
      : grid(grid_), block(block_), shared_mem(shared_mem_), stream(stream_) {}
  Dim grid, block;         ///< blocks; threads of a block
  std::size_t shared_mem;  ///< dynamic bytes; what needs opting in to is opted in to
  void* stream;
  std::optional<Dim> cluster;   ///< blocks of a cluster
  bool cooperative = false;     ///< all blocks run at the same time
  bool pdl = false;             ///< programmatic dependent launch
  std::optional<int> priority;  ///< as of streams: lower numbers first
};

/// An image of a store. `data` is empty for one that the driver holds.
struct Image {
  std::string module, arch, kind, sha256;
  std::string lowered;  ///< the symbol of the kernel in it
  std::string_view data;
  std::shared_ptr<const std::string> owner;  ///< keeps the data
};

/// A kernel's resources on a device; sizes are in bytes.
struct Attributes {
  int registers;    ///< of a thread
  int shared;       ///< static shared memory of a block
  int constant;
  int local;        ///< of a thread: spills and arrays
  int max_threads;  ///< of a block, by its registers and __launch_bounds__
  int max_dynamic_shared, binary_version, ptx_version;
};

/// Why a kernel gets its image: every candidate in order, and which one is taken.
struct Explanation {
  std::string kernel, arch, parameters;
  std::optional<Version> driver;
  std::vector<Candidate> candidates;
  std::optional<std::size_t> chosen;
  std::vector<std::string> fixes;  ///< what you can do if none is

  std::string text() const {
    using detail::cat;
    std::string made = cat(kernel, " on ", arch, " with ", driver ? cat("a driver for CUDA ", *driver) : "any driver", ":");
    if (!parameters.empty()) made += "\n  takes (" + parameters + ")";
    for (std::size_t i = 0; i < candidates.size(); ++i) made += (chosen == i ? "\n -> " : "\n    ") + candidates[i].text();
    if (!chosen) made += "\n no image";
    for (const std::string& fix : fixes) made += "\n  to fix: " + fix;
    return made;
  }
};

namespace detail {

/// A kernel as it is in one context.
struct Loaded {
  Image image;
  Handle library = nullptr, kernel = nullptr, function = nullptr, context = nullptr;
  int ordinal = 0;
};

struct Request {
  Line line;
  bool is_listed = true;  ///< what is not listed has no prebuilt image
  Version device;
  std::optional<Version> driver;
};

/// What a climb does with an image that the table accepts.
enum class Ask { nothing, bytes, driver };

class StoreData {
  using Lock = std::lock_guard<std::recursive_mutex>;

 public:
  /// A kernel of the store, in the contexts that it is loaded for.
  struct KernelState {
    KernelState(StoreData& store_, Line line_) : store(store_), line(std::move(line_)), signature(line) {}
    StoreData& store;
    const Line line;
    const Signature signature;
    std::shared_mutex mutex;
    std::map<unsigned long long, std::shared_ptr<const Loaded>> loads;  ///< by the context's id

    /// The kernel in the current context, which loads it there the first time.
    std::shared_ptr<const Loaded> loaded() {
      Driver& driver = Driver::get();
      unsigned long long id = 0;
      if (driver.cuCtxGetId(nullptr, &id) != 0) id = driver.context();
      {
        const std::shared_lock<std::shared_mutex> lock(mutex);
        if (const auto known = loads.find(id); known != loads.end()) return known->second;
      }
      return store.load_for(*this);
    }
  };

  explicit StoreData(std::unique_ptr<Files> files) : files_(std::move(files)) {}

  KernelState& kernel(std::string_view name, std::string_view module) {
    const Lock lock(mutex_);
    auto [line, is_listed] = find_kernel(name, module);
    if (!is_listed) throw_no_image(request_here(line, false));
    std::unique_ptr<KernelState>& state = kernels_[{line.module, line.key}];
    if (!state) state = std::make_unique<KernelState>(*this, line);
    state->loaded();
    return *state;
  }

  /// A variable, and a kernel that is in all images of its module.
  std::pair<Line, Line> variable(std::string_view name, std::string_view module) {
    const Lock lock(mutex_);
    const Line line = one(lines("&" + key_of(name), module), name, module, "variable");
    std::vector<std::string> lacking;
    for (const Record& image : index(line.module).images) lacking.insert(lacking.end(), image.lacks.begin(), image.lacks.end());
    for (const Line& other : lines_from(""))
      if (other.module == line.module && other.key.find_first_of("&<{") != 0 &&
          std::find(lacking.begin(), lacking.end(), other.lowered) == lacking.end())
        return {line, other};
    throw NotFoundError(cat("no kernel of module ", line.module, " is in all its images; the variable ", name, " needs one"), name);
  }

  Request request(std::string_view name, std::string_view module, const std::string& arch, std::optional<Version> driver) {
    const Lock lock(mutex_);
    auto [line, is_listed] = find_kernel(name, module);
    Version device;
    try {
      const Arch parsed = Arch::parse(arch);
      require(!parsed.is_virtual, "it is not a device");
      device = parsed.capability;
    } catch (const Malformed&) {
      throw NotFoundError(cat("'", arch, "' is no device; write it like sm_90"), arch);
    }
    return {line, is_listed, device, driver};
  }

  Request request_here(std::string_view name, std::string_view module) {
    const Lock lock(mutex_);
    auto [line, is_listed] = find_kernel(name, module);
    return request_here(line, is_listed);
  }

  Explanation explain(const Request& request, Ask ask) {
    const Lock lock(mutex_);
    Explanation made{request.line.name, arch_text(request.device), "", request.driver, {}, {}, {}};
    const Signature signature(request.line);
    if (signature.has_types()) made.parameters = signature.text();
    climb(request, ask, true, made.candidates);
    for (std::size_t i = made.candidates.size(); i-- > 0;)
      if (made.candidates[i].accepted) made.chosen = i;
    if (!made.chosen) made.fixes = fixes(request, made.candidates);
    return made;
  }

  Image find_image(const Request& request) {
    const Lock lock(mutex_);
    std::vector<Candidate> candidates;
    const std::optional<Loaded> found = climb(request, Ask::bytes, false, candidates);
    if (!found) throw_no_image(request, std::move(candidates));
    return found->image;
  }

  /// The module that has these values of a family's axes; without values, the module so called.
  std::string find_module(std::string_view family, const std::map<std::string, std::string>& axes) {
    const Lock lock(mutex_);
    std::string key = "{" + std::string(family), further = key;
    for (const auto& [axis, value] : axes) {
      key += ";" + axis + "=";
      further += ";" + axis;
      for (const char c : key_of(value)) key += c == ';' ? std::string(";;") : std::string(1, c);
    }
    const std::vector<Line> found = axes.empty() ? std::vector<Line>() : lines(key, "");
    const std::string name(family);
    if (axes.empty() && is_file_name(name) && files_->has(name + "/index.json")) return name;
    const std::vector<Line> holders = axes.empty() ? std::vector<Line>() : lines(further, "");
    for (const Line& holder : found.empty() ? std::vector<Line>() : holders)
      if (const std::string axis = respaced(holder.module, axes); !axis.empty())
        throw NotFoundError(cat(name, ": the value of ", axis, " has other spaces than the listed one, and they count, because it is "
                                "in a string"), name);
    if (!found.empty()) return found[0].module;
    const std::string what = cat(files_->label, " has no module '", name, "'"), given = cat(what, " with ", in_words(axes));
    std::vector<std::string> entries;
    for (const Line& holder : holders) {
      const Family entry = family_of(holder.module);
      entries.push_back("'" + entry.entry + "'");
      for (const Values& excluded : entry.exclude)
        if (std::all_of(excluded.begin(), excluded.end(), [&](const auto& one) {
              const auto value = axes.find(one.first);
              return value != axes.end() && one.second.size() < 4096 && key_of(one.second) == key_of(value->second);
            }))
          throw NotFoundError(cat(given, ": the manifest excludes ", in_words(excluded)), name);
    }
    if (entries.size() > 1)
      throw NotFoundError(cat(given, ", and both ", join(entries, " and "), " could have it; list it in the manifest"), name, {}, true);
    if (!entries.empty())
      throw NoImageError(cat("no kernel of ", name, " is prebuilt with these values of its axes; add them to its matrix, and build "
                             "the store again"), name, "", {}, {"add the values to the matrix in kernels.yaml"});
    throw_unknown(name, axes, what);
  }

  std::vector<std::string> names(std::string_view what) {
    const Lock lock(mutex_);
    std::vector<std::string> found;
    for (const Line& line : lines_from(what == "kernel" ? "" : "&"))
      if (what != "kernel" || line.key.find_first_of("&<{") != 0) found.push_back(line.name);
    return found;
  }

  std::string lowered(const Line& line, const Record& image) {
    if (!image.renames) return line.lowered;
    const Content content = files_->read(line.module + "/details.json");
    const Json data = Json::parse(content.bytes);
    const auto all = data.get("lowered"), own = all ? all->get(image.file) : all, found = own ? own->get(line.key) : own;
    if (own) own->each([](const std::string&, const Json& name) { name.text(); });
    return found ? found->text() : line.lowered;
  }

  std::string lowered(const Line& line, const std::string& sha256) {
    const Lock lock(mutex_);
    for (const Record& image : index(line.module).images)
      if (image.sha256 == sha256) return lowered(line, image);
    return line.lowered;
  }

  std::shared_ptr<const Loaded> load_for(KernelState& kernel) {
    const Lock lock(mutex_);
    Driver& driver = Driver::get();
    const unsigned long long id = driver.context();
    {
      const std::shared_lock<std::shared_mutex> reading(kernel.mutex);  // another thread may have loaded it meanwhile
      if (const auto known = kernel.loads.find(id); known != kernel.loads.end()) return known->second;
    }
    const Request request = request_here(kernel.line, true);
    std::vector<Candidate> candidates;
    std::optional<Loaded> loaded = climb(request, Ask::driver, false, candidates);
    if (!loaded) throw_no_image(request, std::move(candidates));
    const std::unique_lock<std::shared_mutex> writing(kernel.mutex);
    for (auto at = kernel.loads.begin(); at != kernel.loads.end();)
      at = driver.is_alive(at->second->context, at->first) ? std::next(at) : kernel.loads.erase(at);
    return kernel.loads[id] = std::make_shared<const Loaded>(std::move(*loaded));
  }

  std::mutex limits;  ///< one thread at a time reads and raises the limits of a kernel

 private:
  const std::string& listing() {
    if (!listing_) {
      std::string text = read<std::string>("kernels.tsv", [](const Content& content) { return std::string(content.bytes); });
      if (!text.empty() && text.back() != '\n') throw StoreError(files_->label + "/kernels.tsv", "cut short: the last line does not end");
      listing_ = std::move(text);
    }
    return *listing_;
  }

  std::vector<Line> lines_from(const std::string& prefix) {
    const std::string_view text = listing();
    std::size_t at = 0, high = text.size();
    while (at < high) {  // lines are sorted, and each ends
      const std::size_t middle = at + (high - at) / 2;
      const std::size_t before = middle > at ? text.substr(0, middle).rfind('\n') : text.npos;
      const std::size_t begin = before == text.npos || before < at ? at : before + 1, end = text.find('\n', begin) + 1;
      if (text.substr(begin, end - 1 - begin) < prefix) at = end;
      else high = begin;
    }
    std::vector<Line> found;
    for (std::size_t end = 0; at < text.size() && starts_with(text.substr(at), prefix); at = end + 1) {
      end = text.find('\n', at);
      try {
        found.push_back(Line::parse(text.substr(at, end - at)));
      } catch (const Malformed& error) {
        throw StoreError(files_->label + "/kernels.tsv", std::string(error.what()) + "; install the package again");
      }
    }
    return found;
  }

  std::vector<Line> lines(const std::string& key, std::string_view module) {
    if (module.empty()) return lines_from(key + "\t");
    std::vector<Line> found = lines_from(cat(key, "\t", module, "\t"));
    for (Line& line : lines_from(cat(key, "\t", module, "."))) found.push_back(std::move(line));
    return found.empty() ? lines_from(key + "\t") : found;
  }

  Line one(const std::vector<Line>& found, std::string_view name, std::string_view module, const char* what) {
    std::vector<Line> fitting;
    std::vector<std::string> modules;
    for (const Line& line : found) {
      const bool fits = module.empty() || line.module == module || listed_module(line.module) == module;
      if (fits) fitting.push_back(line);
      modules.push_back(line.module);
    }
    if (fitting.size() == 1) return fitting[0];
    if (!fitting.empty())
      throw NotFoundError(cat("several modules of ", files_->label, " have the ", what, " ", name, "; pass one of ", join(modules, ", ")),
                          name, modules, true);
    const std::vector<std::string> known = modules.empty() ? names(what) : modules;
    const std::string where = modules.empty() ? cat("; its ", what, "s: ") : "; pass a module that has it: ";
    throw NotFoundError(cat("no ", what, " '", name, "' in ", files_->label, where, join(known, ", ")), name, known);
  }

  /// The line of a kernel, and whether its module lists it: an instance that is not belongs to one that lists others.
  std::pair<Line, bool> find_kernel(std::string_view name, std::string_view module) {
    const std::string key = key_of(name);
    const bool is_kernel = key.find_first_of("&<{") != 0;
    const std::vector<Line> found = is_kernel ? lines(key, module) : std::vector<Line>();
    if (found.empty() && is_kernel && key.find('<') != key.npos) {
      Line line{key, std::string(module), "", {}, std::string(name), {}, {}};
      if (is_file_name(line.module) && files_->has(line.module + "/index.json")) return {line, false};
      const std::vector<Line> instances = lines_from("<" + template_of(key) + "\t");
      if (!instances.empty()) return line.module = one(instances, name, module, "kernel").module, std::pair(line, false);
    }
    return {one(found, name, module, "kernel"), true};
  }

  using Values = std::map<std::string, std::string>;

  /// What the manifest says of an entry with axes in its name.
  struct Family {
    std::string entry;
    std::map<std::string, std::vector<std::string>> axes;  ///< with the values that it lists
    std::vector<Values> exclude;
  };

  Family family_of(const std::string& module) {
    return read<Family>(module + "/details.json", [](const Content& content) {
      const Json data = Json::parse(content.bytes).at("family");
      Family family{data.at("entry").text(), {}, {}};
      data.at("axes").each([&](const std::string& axis, const Json& values) {
        values.each([&](const std::string&, const Json& value) { family.axes[axis].push_back(value.text()); });
      });
      if (const auto exclude = data.get("exclude"))
        exclude->each([&](const std::string&, const Json& item) {
          Values& excluded = family.exclude.emplace_back();
          item.each([&](const std::string& axis, const Json& value) { excluded[axis] = value.text(); });
        });
      return family;
    });
  }

  static std::string in_words(const Values& axes) {
    std::vector<std::string> parts;
    for (const auto& [axis, value] : axes) parts.push_back(axis + "=" + value);
    return parts.empty() ? "no axis" : join(parts, ", ", parts.size());
  }

  /// Says what there is in place of a family, or of values of its axes, that no module has.
  [[noreturn]] void throw_unknown(const std::string& name, const Values& given, const std::string& what) {
    std::vector<std::string> known;
    std::map<std::string, std::vector<std::string>> listed;
    std::set<std::string> modules;
    for (const Line& line : lines_from(given.empty() ? "" : "{")) {
      modules.insert(line.module);
      if (line.key[0] != '{' || line.key.find('=') != line.key.npos) continue;
      known.push_back(line.name);
      if (line.name != name) continue;
      for (const auto& [axis, values] : family_of(line.module).axes) {
        std::vector<std::string>& all = listed[axis];
        for (const std::string& value : values)
          if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
      }
    }
    if (listed.empty()) {
      known.erase(std::unique(known.begin(), known.end()), known.end());
      if (given.empty()) known.insert(known.end(), modules.begin(), modules.end());
      const std::string there = known.empty() ? "no module of it has axes in its name" : "there are " + join(known, ", ");
      throw NotFoundError(cat(what, "; ", there), name, known);
    }
    std::vector<std::string> parts, missing;
    for (const auto& [axis, value] : given)
      if (parts.empty() && listed.find(axis) == listed.end()) parts.push_back(axis + " is no axis of it");
    for (const auto& [axis, values] : listed)
      if (!given.empty() && given.find(axis) == given.end()) missing.push_back(axis);
    if (!missing.empty()) parts.push_back(cat("the value of ", join(missing, " and "), " is missing"));
    for (const auto& [axis, values] : listed) parts.push_back(cat(axis, " is ", join(values, " or ")));
    throw NotFoundError(cat(what, " with ", in_words(given), "; ", join(parts, "; ", parts.size())), name, known);
  }

  /// An axis whose value differs in spaces from the listed one, and is in a string of a macro or a name; else empty.
  std::string respaced(const std::string& module, const std::map<std::string, std::string>& axes) {
    return read<std::string>(module + "/details.json", [&](const Content& content) {
      const Json family = Json::parse(content.bytes).at("family");
      std::string literals, found;
      const auto add = [&](const std::string&, const Json& spelled) {
        if (!spelled.is_string()) return;
        const std::string text = spelled.text();
        for (const std::string_view token : raw_tokens(text))
          if (token.find_first_of("\"'") != token.npos) literals += token;
      };
      if (const auto define = family.get("define"))
        define->each([&](const std::string&, const Json& macro) { macro.each(add); });
      family.at("names").each(add);
      family.at("axes").each([&](const std::string& axis, const Json& values) {
        const auto given = axes.find(axis);
        if (given == axes.end() || literals.find("{" + axis + "}") == literals.npos) return;
        values.each([&](const std::string&, const Json& value) {
          const std::string listed = value.text();
          if (listed != given->second && key_of(listed) == key_of(given->second)) found = axis;
        });
      });
      return found;
    });
  }

  template <class T, class Parse>
  T read(const std::string& path, Parse parse) {
    try {
      return parse(files_->read(path));
    } catch (const Malformed& error) {
      throw StoreError(files_->label + "/" + path, error.what());
    } catch (const std::bad_alloc&) {
      throw StoreError(files_->label + "/" + path, "it needs more memory than there is; install the package again");
    }
  }

  const Index& index(const std::string& module) {
    // Indexes stay where they are once they are read; the lock is that of all that climbs.
    const auto known = indexes_.find(module);
    if (known != indexes_.end()) return known->second;
    const auto parse = [&](const Content& content) { return Index::parse(module, content.bytes); };
    return indexes_.emplace(module, read<Index>(module + "/index.json", parse)).first->second;
  }

  static std::string arch_text(const Version& device) {
    return cat("sm_", device.first, device.second);
  }

  Request request_here(const Line& line, bool is_listed) {
    Driver& driver = Driver::get();
    driver.context();
    int ordinal = 0;
    driver.check(driver.cuCtxGetDevice(&ordinal), "cuCtxGetDevice");
    const auto attribute = [&](int which) { return static_cast<unsigned>(driver.attribute(which, ordinal)); };
    return {line, is_listed, {attribute(75), attribute(76)}, driver.version};
  }

  [[noreturn]] void throw_no_image(const Request& request, std::vector<Candidate> candidates) {
    const std::string arch = arch_text(request.device);
    const std::vector<std::string> help = fixes(request, candidates);
    std::string text = cat("no image of kernel '", request.line.name, "' runs on ", arch, ". Considered:");
    for (const Candidate& candidate : candidates) text += "\n  " + candidate.text();
    for (const std::string& fix : help) text += "\n  to fix: " + fix;
    throw NoImageError(text, request.line.name, arch, std::move(candidates), help);
  }

  [[noreturn]] void throw_no_image(const Request& request) {
    std::vector<Candidate> candidates;
    climb(request, Ask::nothing, false, candidates);
    throw_no_image(request, std::move(candidates));
  }

  /// Whether there is machine code for exactly this device, which may be damaged, packed, or refused.
  bool is_built(const Request& request) {
    const std::vector<Record>& images = index(request.line.module).images;
    return std::any_of(images.begin(), images.end(), [&](const Record& one) { return one.kind == "cubin" && one.arch.capability == request.device; });
  }

  std::vector<std::string> fixes(const Request& request, const std::vector<Candidate>& candidates) {
    std::vector<std::string> found;
    const auto says = [&](const char* words) {
      return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) { return one.reason.find(words) != std::string::npos; });
    };
    if (says("written as PTX ISA"))
      found.push_back("install a newer driver, or build the store with an older toolkit (cuda: in its kernels.yaml)");
    if (says("this is an editable install")) found.push_back("build the store with `hatch-cuda-kernels build` or `embed`");
    else if (!request.is_listed) found.push_back(cat("list ", request.line.name, " under instances in kernels.yaml, and build the store again"));
    else if (!is_built(request)) found.push_back(cat("build the store with ", arch_text(request.device), " among its arches, or with PTX if its CUDA release does not know that"));
    return found;
  }

  /// Why a prebuilt image of a fitting architecture cannot be used; of several reasons, what helps most.
  std::string refusal(const Request& request, const Record& image) {
    if (index(request.line.module).is_editable) return "the source cannot be read by this loader, and this is an editable install";
    const std::optional<Version> known = request.driver ? newest_isa(*request.driver) : std::nullopt;
    if (image.kind == "ptx" && known && image.isa > *known)
      return cat("written as PTX ISA ", image.isa, ", the driver knows up to ", *known);
    if (std::find(image.lacks.begin(), image.lacks.end(), request.line.lowered) != image.lacks.end())
      return cat("the kernel is not in this image (", request.line.lowered, ")");
    const auto found = refused_.find({request.device, image.sha256});
    return found != refused_.end() ? found->second : "";
  }

  static std::string acceptance(const Request& request, const Record& image) {
    if (image.kind == "ptx") return cat("PTX ISA ", image.isa, ", assembled by the driver");
    const unsigned wrote = image.isa.first + 4;  // the CUDA that did
    const bool is_old = request.driver && request.driver->first < wrote;
    const std::string caveat = is_old ? cat(", though CUDA ", wrote, " wrote it, which this driver is not promised to load") : "";
    if (image.arch.capability == request.device) return "made for this device" + caveat;
    if (image.arch.is_trial(request.device))
      return cat("a trial, which the driver decides: ", image.arch.refusal(request.device), caveat);
    return cat("runs on ", request.device, " as code of the same ", image.arch.suffix ? "family" : "major", caveat);
  }

  /// Tries the images in order, and returns the first that is taken, after what was considered. A `whole` climb lists
  /// all others, too. The store is locked meanwhile.
  std::optional<Loaded> climb(const Request& request, Ask ask, bool whole, std::vector<Candidate>& found) {
    std::optional<Loaded> taken;
    std::vector<Record> none;
    const std::vector<Record>& images = request.is_listed ? index(request.line.module).images : none;
    for (const int rung : {0, 1, 2, 3}) {  // CUBINs, PTX, what the package would compile, CUBINs that may run
      if (rung == 2) found.push_back({"jitted", arch_text(request.device), "cubin", false, "this loader has no cache and compiles nothing"});
      std::vector<const Record*> records;
      for (const Record& image : images)
        if (rung == 1 ? image.kind == "ptx" : rung != 2 && image.kind == "cubin" && image.arch.is_trial(request.device) == (rung == 3))
          records.push_back(&image);
      std::stable_sort(records.begin(), records.end(), [&](const Record* a, const Record* b) {
        return a->arch.preference(request.device) < b->arch.preference(request.device);
      });
      for (const Record* image : records) {
        std::string why = rung == 3 ? "" : image->arch.refusal(request.device);
        if (why.empty()) why = refusal(request, *image);
        Candidate candidate{"prebuilt", image->arch.text, image->kind, why.empty(), why.empty() ? acceptance(request, *image) : why};
        bool leaves_rung = false;
        if (candidate.accepted && !taken && ask != Ask::nothing) {
          taken = attempt(request, *image, ask, candidate.reason, leaves_rung);
          candidate.accepted = taken.has_value();
        }
        found.push_back(std::move(candidate));
        if (!whole && (taken || leaves_rung)) break;
      }
      if (!whole && taken) break;
    }
    return taken;
  }

  std::optional<Loaded> attempt(const Request& request, const Record& image, Ask ask, std::string& reason, bool& leaves_rung) {
    Loaded loaded;
    try {
      require(!image.is_packed, "it is packed, and this loader has no decompressor; use `hatch-cuda-kernels embed`, or build with packing: none");
      const Content content = files_->read(image.path, image.bytes);
      require(content.bytes.size() == image.bytes && sha256(content.bytes) == image.sha256,
              "the image does not match the digest in its index; install the package again");
      loaded.image = {request.line.module, image.arch.text, image.kind, image.sha256, lowered(request.line, image), content.bytes, content.owner};
      return ask == Ask::bytes ? loaded : load(request, image, std::move(loaded), reason, leaves_rung);
    } catch (const Malformed& error) {
      reason = cat("cannot read the image ", files_->label, "/", image.path, ": ", error.what());
    } catch (const std::bad_alloc&) {
      reason = cat("cannot read the image ", files_->label, "/", image.path, ": it needs more memory than there is");
    }
    return std::nullopt;
  }

  /// Has the driver load an image. An image counts as loaded when the kernel's handle is there: loading is lazy.
  std::optional<Loaded> load(const Request& request, const Record& image, Loaded loaded, std::string& reason, bool& leaves_rung) {
    Driver& driver = Driver::get();
    const DuringCapture guard(driver);
    std::shared_ptr<Library>& known = libraries_[{request.line.module, image.sha256}];
    std::shared_ptr<Library> library = known;
    const char* call = "cuLibraryLoadData";
    int code = 0;
    if (!library) {
      Handle made = nullptr;
      code = driver.cuLibraryLoadData(&made, loaded.image.data.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
      if (code == 0) library = std::make_shared<Library>(made);
    }
    if (code == 0) code = driver.cuLibraryGetKernel(&loaded.kernel, library->handle, (call = "cuLibraryGetKernel", loaded.image.lowered.c_str()));
    if (code == 0) code = driver.cuKernelGetFunction(&loaded.function, (call = "cuKernelGetFunction", loaded.kernel));
    leaves_rung = code == 218 || (code >= 221 && code <= 223);  // no PTX would work
    if (code == 500) {
      reason = cat("the kernel is not in this image (", loaded.image.lowered, ")");
      return std::nullopt;
    }
    if (leaves_rung || code == 200 || code == 209) {
      reason = cat("refused by the driver: ", driver.name_of(code), " (", code, ")");
      refused_[{request.device, image.sha256}] = reason;
      return std::nullopt;
    }
    driver.check(code, call);
    require(Signature(request.line).is_of(driver, loaded.kernel), "its kernel has other parameters than kernels.tsv; build it again");
    driver.check(driver.cuCtxGetCurrent(&loaded.context), "cuCtxGetCurrent");
    driver.check(driver.cuCtxGetDevice(&loaded.ordinal), "cuCtxGetDevice");
    known = library;
    loaded.library = library->handle;
    loaded.image.data = {};
    loaded.image.owner = nullptr;
    return loaded;
  }

  const std::unique_ptr<Files> files_;
  std::recursive_mutex mutex_;
  std::optional<std::string> listing_;
  std::map<std::string, Index> indexes_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Library>> libraries_;  ///< by module and digest
  std::map<std::pair<Version, std::string>, std::string> refused_;                      ///< by device and digest: why
  std::map<std::pair<std::string, std::string>, std::unique_ptr<KernelState>> kernels_;
};
}  // namespace detail

/// One kernel of a store, for all contexts; cheap to copy. A context where it is new, or that was reset, loads it again.
class Kernel {
 public:
  const std::string& name() const { return state_->line.name; }

  /// Launches in the current context. Throws ArgumentError, LaunchError, DriverError, and what get_kernel throws.
  template <class... Args>
  void launch(const LaunchConfig& config, const Args&... args) const {
    const std::array<detail::Argument, sizeof...(Args)> given{detail::argument_of(args)...};
    std::array<std::uint64_t, sizeof...(Args) + 1> values;
    std::array<void*, sizeof...(Args) + 1> places;
    state_->signature.convert(given.data(), sizeof...(Args), values.data(), places.data());
    launch_with(config, sizeof...(Args) ? places.data() : nullptr);
  }

  /// The image that the current context has.
  Image image() const { return state_->loaded()->image; }

  /// The CUfunction and the CUkernel (a cudaKernel_t) of the current context, for calls of the driver or the runtime.
  void* function() const { return state_->loaded()->function; }
  void* handle() const { return state_->loaded()->kernel; }

  Attributes attributes() const {
    const std::shared_ptr<const detail::Loaded> loaded = state_->loaded();
    const auto of = [&](int which) { return attribute(*loaded, which); };
    return {of(4), of(1), of(2), of(3), of(0), of(8), of(6), of(5)};
  }

  /// Sets a CUfunction_attribute on the current device, such as 9, the preferred carveout of shared memory.
  void set_attribute(int which, int value) const {
    const std::shared_ptr<const detail::Loaded> loaded = state_->loaded();
    const detail::Driver& driver = detail::Driver::get();
    driver.check(driver.cuKernelSetAttribute(which, value, loaded->kernel, loaded->ordinal), "cuKernelSetAttribute", name());
  }

 private:
  friend class Store;
  Kernel(std::shared_ptr<detail::StoreData> store, detail::StoreData::KernelState& state) : store_(std::move(store)), state_(&state) {}

  static int attribute(const detail::Loaded& loaded, int which) {
    int value = 0;
    const detail::Driver& driver = detail::Driver::get();
    driver.check(driver.cuKernelGetAttribute(&value, which, loaded.kernel, loaded.ordinal), "cuKernelGetAttribute");
    return value;
  }

  void launch_with(const LaunchConfig& config, void** places) const {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    const auto size = [&](const Dim& dim, std::size_t axis, std::uint64_t least, const char* what) {
      if (dim[axis] < least || dim[axis] > most)
        throw LaunchError(detail::cat(name(), ": a size of the ", what, " is not from ", least, " to 2**32 - 1"));
      return static_cast<unsigned>(dim[axis]);
    };
    detail::LaunchAttribute attributes[4] = {};
    detail::DriverLaunch made{};
    for (std::size_t i = 0; i < 3; ++i) made.grid[i] = size(config.grid, i, 0, "grid"), made.block[i] = size(config.block, i, 1, "block");
    if (config.shared_mem > most) throw LaunchError(name() + ": shared memory is a number of bytes below 2**32");
    made.shared_mem = static_cast<unsigned>(config.shared_mem);
    made.stream = config.stream;
    made.attributes = attributes;
    const auto add = [&](unsigned id) -> detail::LaunchAttribute& { return attributes[made.count].id = id, attributes[made.count++]; };
    if (config.cooperative) add(2).value.number = 1;
    if (config.cluster) {
      detail::LaunchAttribute& cluster = add(4);
      for (std::size_t i = 0; i < 3; ++i) cluster.value.dims[i] = size(*config.cluster, i, 1, "cluster");
    }
    if (config.pdl) add(6).value.number = 1;
    if (config.priority) add(8).value.number = *config.priority;
    const std::shared_ptr<const detail::Loaded> loaded = state_->loaded();
    if (made.grid[0] == 0 || made.grid[1] == 0 || made.grid[2] == 0) return;  // such a launch does nothing
    allow(*loaded, config);
    const detail::Driver& driver = detail::Driver::get();
    const int code = driver.cuLaunchKernelEx(&made, loaded->function, places, nullptr);
    if (code != 0) driver.check(code, "launching " + name(), limits(*loaded, made));
  }

  /// Opts in to what a launch needs: much shared memory, large clusters. A limit is never lowered.
  void allow(const detail::Loaded& loaded, const LaunchConfig& config) const {
    if (config.cluster && (*config.cluster)[0] * (*config.cluster)[1] * (*config.cluster)[2] > 8) set_attribute(14, 1);
    if (config.shared_mem == 0) return;
    const std::lock_guard<std::mutex> lock(store_->limits);
    const std::size_t fixed = static_cast<std::size_t>(attribute(loaded, 1)), wanted = config.shared_mem;
    if (wanted + fixed <= 48 << 10 || wanted <= static_cast<std::size_t>(attribute(loaded, 8))) return;
    const std::size_t most = static_cast<std::size_t>(detail::Driver::get().attribute(97, loaded.ordinal));
    if (wanted + fixed > most)
      throw LaunchError(detail::cat(name(), ": ", wanted, " bytes of dynamic shared memory and ", fixed,
                                    " static ones: a block has at most ", most, " on this device"));
    set_attribute(8, static_cast<int>(wanted));
  }

  static std::string limits(const detail::Loaded& loaded, const detail::DriverLaunch& made) {
    const std::uint64_t threads = std::uint64_t{made.block[0]} * made.block[1] * made.block[2];
    int most = 0;
    if (detail::Driver::get().cuKernelGetAttribute(&most, 0, loaded.kernel, loaded.ordinal) != 0 || threads <= static_cast<std::uint64_t>(most)) return "";
    return detail::cat("a block of ", threads, " threads: this kernel takes at most ", most, ", by its __launch_bounds__, its "
                       "registers or the device");
  }

  std::shared_ptr<detail::StoreData> store_;
  detail::StoreData::KernelState* state_;
};

/// A __constant__ or __device__ variable: where it is in the current context.
class Variable {
 public:
  struct Place {
    unsigned long long address;  ///< a CUdeviceptr
    std::size_t size;            ///< bytes
  };

  Place place() const {
    const std::shared_ptr<const detail::Loaded> loaded = state_->loaded();
    const std::string lowered = store_->lowered(line_, loaded->image.sha256);
    const detail::Driver& driver = detail::Driver::get();
    const detail::DuringCapture guard(driver);
    Place made{0, 0};
    const int code = driver.cuLibraryGetGlobal(&made.address, &made.size, loaded->library, lowered.c_str());
    driver.check(code, "cuLibraryGetGlobal", code == 500 ? "the variable " + line_.name + " is not in the image; build it again" : "");
    return made;
  }

  /// The image that it is in.
  Image image() const { return state_->loaded()->image; }

 private:
  friend class Store;
  Variable(std::shared_ptr<detail::StoreData> store, detail::StoreData::KernelState& state, detail::Line line)
      : store_(std::move(store)), state_(&state), line_(std::move(line)) {}
  std::shared_ptr<detail::StoreData> store_;
  detail::StoreData::KernelState* state_;
  detail::Line line_;
};

/// A store of prebuilt kernels; cheap to copy. Its files are read when they are needed.
class Store {
 public:
  /// The store in a folder, as a build writes it. Packed images in it are refused: embed these.
  static Store folder(const std::string& path) { return Store(std::make_unique<detail::Folder>(path)); }

  /// The store that `hatch-cuda-kernels embed` wrote; the bytes must stay where they are. Throws StoreError.
  static Store embedded(const void* data, std::uint64_t size) { return Store(std::make_unique<detail::Embedded>(data, size)); }

  /// A kernel, loaded for the current context; without one, for the primary context of device 0. The module is only
  /// needed if several have the name. Throws NotFoundError, StoreError, NoImageError, DriverError.
  Kernel get_kernel(std::string_view name, std::string_view module = {}) const { return {data_, data_->kernel(name, module)}; }

  /// A device variable of a module. Throws what get_kernel throws.
  Variable get_global(std::string_view name, std::string_view module = {}) const {
    const auto [line, kernel] = data_->variable(name, module);
    Variable made(data_, data_->kernel(kernel.name, kernel.module), line);
    made.place();
    return made;
  }

  /// The name of the module with these values of the axes in its name, such as {{"T", "float"}}.
  std::string find_module(std::string_view family, const std::map<std::string, std::string>& axes) const {
    return data_->find_module(family, axes);
  }

  /// Which image a kernel gets in the current context, and why not another; the driver is asked.
  Explanation explain(std::string_view name, std::string_view module = {}) const {
    return data_->explain(data_->request_here(name, module), detail::Ask::driver);
  }

  /// The same by the table alone, on a device such as "sm_90" and a driver for a CUDA version; none: any driver.
  Explanation explain_for(std::string_view name, const std::string& arch, std::optional<Version> driver = {}, std::string_view module = {}) const {
    return data_->explain(data_->request(name, module, arch, driver), detail::Ask::nothing);
  }

  /// The image that a kernel gets there, with its data.
  Image find_image(std::string_view name, const std::string& arch, std::optional<Version> driver = {}, std::string_view module = {}) const {
    return data_->find_image(data_->request(name, module, arch, driver));
  }

  /// The names of all kernels.
  std::vector<std::string> kernels() const { return data_->names("kernel"); }

 private:
  explicit Store(std::unique_ptr<detail::Files> files) : data_(std::make_shared<detail::StoreData>(std::move(files))) {}
  std::shared_ptr<detail::StoreData> data_;
};

}  // inline namespace
}  // namespace hatch_cuda_kernels
#endif
