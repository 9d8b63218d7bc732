// What a program in C++ does with the loader, on the driver of driver.c. The first argument says what:
//   answers       reads questions of the conformance cases, and prints what the loader answers
//   keys          reads names, and prints their keys
//   launch STORE  loads, launches, breaks and mends what is in a store, and prints what came of it
//   fuzz          reads damaged stores, and does everything with each: only errors of the loader are allowed
#include "hatch_cuda_kernels.hpp"

#include <complex>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <thread>

namespace hck = hatch_cuda_kernels;
using hck::detail::Json;

static std::string asked_sha256, asked_name;
static std::map<std::string, int> refused;

extern "C" int judge(const char* image, const char* name) {
  asked_sha256 = hck::detail::sha256(image);
  asked_name = name;
  const auto found = refused.find(asked_sha256);
  return found == refused.end() ? 0 : found->second;
}

extern "C" int take_all(const char*, const char*) { return 0; }

template <class T>
static T& of_driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return *static_cast<T*>(dlsym(library, name));
}

static std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' ? std::string(escaped) : std::string(1, c);
  }
  return out + "\"";
}

static std::string read_all(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Answers

static std::string described(const hck::Image& image, const std::string& sha256, const std::string& lowered) {
  return "{\"module\": " + quoted(image.module) + ", \"image\": " + quoted(image.arch + " " + image.kind) +
         ", \"sha256\": " + quoted(sha256) + ", \"lowered\": " + quoted(lowered) + "}";
}

static std::string answer(const Json& ask) {
  const auto text = [&](const char* name) { const auto found = ask.get(name); return found && found->is_string() ? found->text() : ""; };
  const hck::Version device = hck::detail::parse_version(text("device"));
  const bool any_driver = text("driver").empty();
  const hck::Version driver = any_driver ? hck::Version(13, 0) : hck::detail::parse_version(text("driver"));
  int* const capability = &of_driver<int>("capability");
  capability[0] = static_cast<int>(device.first), capability[1] = static_cast<int>(device.second);
  hck::detail::Driver::get().version = driver;  // which is asked once
  refused.clear();
  if (const auto codes = ask.get("refuses"))
    codes->each([](const std::string& digest, const Json& code) { refused[digest] = static_cast<int>(code.size()); });
  std::string table;
  if (ask.get("table")) {
    std::FILE* const file = std::fopen(text("table").c_str(), "rb");
    for (int c; (c = std::fgetc(file)) != EOF;) table += static_cast<char>(c);
    std::fclose(file);
  }
  const std::unique_ptr<char[]> memory(new char[table.size()]);  // of just this size: nothing behind it may be read
  std::memcpy(memory.get(), table.data(), table.size());
  const std::string name = text("name");
  std::string module = text("module");
  try {
    const hck::Store store = table.empty() ? hck::Store::folder(text("store")) : hck::Store::embedded(memory.get(), table.size());
    if (const auto axes = ask.get("axes")) {
      std::map<std::string, std::string> values;
      axes->each([&](const std::string& axis, const Json& value) {
        values[axis] = value.is_string() ? value.text() : std::string(value.raw());
      });
      module = store.find_module(module, values);
    }
    const std::string arch = "sm_" + std::to_string(device.first) + std::to_string(device.second);
    if (ask.get("explain")) return quoted(store.explain_for(name, arch, driver, module).text());
    if (any_driver) {
      const hck::Image image = store.find_image(name, arch, {}, module);
      return described(image, hck::detail::sha256(image.data), name);
    }
    if (ask.get("variable")) {
      const hck::Variable variable = store.get_global(name, module);
      return described(variable.image(), asked_sha256, &of_driver<char>("variable_name"));
    }
    const hck::Image image = store.get_kernel(name, module).image();
    return described(image, asked_sha256, asked_name);
  } catch (const hck::NoImageError& error) {
    std::string found;
    for (const hck::Candidate& one : error.candidates)
      if (one.origin == "prebuilt") found += (found.empty() ? "" : ", ") + quoted(one.arch + " " + one.kind) + ": " + quoted(one.reason);
    return "{\"refused\": {" + found + "}}";
  } catch (const hck::NotFoundError& error) {
    if (ask.get("message")) return quoted(error.what());
    return error.is_ambiguous ? "{\"error\": \"ambiguous\"}" : "{\"error\": \"unknown\"}";
  } catch (const hck::StoreError& error) {
    return "{\"error\": \"damaged\", \"path\": " + quoted(error.path) + "}";
  }
}

// Launches

template <class Call>
static std::string told(Call call) {
  try {
    call();
  } catch (const hck::ArgumentError& error) {
    return std::string("ArgumentError ") + std::to_string(error.index) + ": " + error.what();
  } catch (const hck::DriverError& error) {
    return std::string("DriverError ") + std::to_string(error.code) + ": " + error.what();
  } catch (const hck::Error& error) {
    return std::string("Error: ") + error.what();
  }
  return "taken";
}

struct Pair {
  float a, b;
};

struct Half {
  std::uint16_t bits;
};

struct alignas(64) Map {
  unsigned char bytes[128];
};

static void launch(const std::string& path) {
  std::map<std::string, std::string> found;
  std::uint64_t* const sizes = &of_driver<std::uint64_t>("sizes");
  std::copy_n(std::array<std::uint64_t, 4>{8, 8, 4, 4}.begin(), 4, sizes);
  const unsigned char* const passed = &of_driver<unsigned char>("passed");
  const std::uint32_t* const launched = &of_driver<std::uint32_t>("launched");
  {
    const hck::Store store = hck::Store::folder(path);
    const hck::Kernel saxpy = store.get_kernel("saxpy");
    float* const y = reinterpret_cast<float*>(4096);
    const float* const x = reinterpret_cast<const float*>(8192);
    saxpy.launch({20, {128, 2}, 16, reinterpret_cast<void*>(99)}, y, x, -5, 2.5);
    float a = 0;
    std::int32_t n = 0;
    std::memcpy(&n, passed + 16, 4), std::memcpy(&a, passed + 20, 4);
    for (int i = 0; i < 7; ++i) found["sizes"] += std::to_string(launched[i]) + " ";
    found["passed"] = std::to_string(passed[1]) + " " + std::to_string(passed[9]) + " " + std::to_string(n) + " " + std::to_string(a);
    found["image"] = saxpy.image().arch;
    found["attributes"] = std::to_string(saxpy.attributes().max_threads);
    const auto tried = [&](auto... args) { return told([&] { saxpy.launch({1, 32}, args...); }); };
    std::complex<float> pairs[1];
    const std::vector<std::pair<const char*, std::string>> rows{
        {"double*", tried(reinterpret_cast<double*>(8), x, 1, 1.0f)},
        {"const float* for float*", tried(x, x, 1, 1.0f)},
        {"float**", tried(const_cast<float**>(&y), x, 1, 1.0f)},
        {"complex", tried(pairs, x, 1, 1.0f)},
        {"void*", tried(static_cast<void*>(y), static_cast<const void*>(x), 1, 1.0f)},
        {"nullptr", tried(nullptr, nullptr, 1, 1.0f)},
        {"address", tried(std::uint64_t{4096}, std::uint64_t{0}, 1, 1.0f)},
        {"int for a pointer", tried(7, x, 1, 1.0f)},
        {"pair for a pointer", tried(Pair{1, 2}, x, 1, 1.0f)},
        {"2**40", tried(y, x, std::int64_t{1} << 40, 1.0f)},
        {"2**31", tried(y, x, 2147483648u, 1.0f)},
        {"-2**31", tried(y, x, std::numeric_limits<int>::min(), 1.0f)},
        {"float for int", tried(y, x, 1.0f, 1.0f)},
        {"int for float", tried(y, x, 1, 3)},
        {"1e300", tried(y, x, 1, 1e300)},
        {"inf", tried(y, x, 1, std::numeric_limits<double>::infinity())},
        {"pointer for float", tried(y, x, 1, x)},
        {"three", tried(y, x, 1)},
        {"grid of -1", told([&] { saxpy.launch({-1, 32}, y, x, 1, 1.0f); })},
        {"block of 0", told([&] { saxpy.launch({1, 0}, y, x, 1, 1.0f); })},
        {"block of 2048", told([&] { saxpy.launch({1, 2048}, y, x, 1, 1.0f); })},
        {"much shared memory", told([&] { saxpy.launch({1, 32, 1 << 20}, y, x, 1, 1.0f); })},
        {"absent", told([&] { store.get_kernel("saxpi"); })},
        {"absent variable", told([&] { store.get_global("d_bia"); })},
        {"in three modules", told([&] { store.get_kernel("twice"); })},
    };
    for (const auto& [name, outcome] : rows) found[name] = outcome;
    hck::LaunchConfig config{4, 64};
    config.cluster = hck::Dim(2, 2);
    config.cooperative = config.pdl = true;
    config.priority = -1;
    saxpy.launch(config, y, x, 1, 1.0f);
    found["attributes of a launch"] = std::to_string(launched[12]);
    const std::uint64_t before = of_driver<std::uint64_t>("launches");
    saxpy.launch({{4, 0}, 64}, y, x, 1, 1.0f);
    found["empty grid"] = std::to_string(of_driver<std::uint64_t>("launches") - before);
    found["explained"] = store.explain("saxpy").text();
    found["no image"] = told([&] { store.find_image("saxpy", "sm_75"); });
    found["not listed"] = told([&] { store.get_kernel("saxpi"); });

    // Structs, and a pointer to integers that are longer than those of int
    found["other parameters"] = told([&] { store.get_kernel("odd"); });
    const std::array<std::uint64_t, 6> odd_sizes{8, 128, 2, 1, 8, 0};
    std::copy_n(odd_sizes.begin(), odd_sizes.size(), sizes);
    const hck::Kernel odd = store.get_kernel("odd");
    found["variable"] = std::to_string(store.get_global("d_bias").place().size);
    std::uint64_t* const word = reinterpret_cast<std::uint64_t*>(4096);
    const auto odd_with = [&](const auto&... args) { return told([&] { odd.launch({1, 1}, args...); }); };
    found["odd"] = odd_with(Pair{1, 2}, Map{}, Half{15}, true, word);
    found["odd bytes"] = std::to_string(passed[136]) + " " + std::to_string(passed[138]);
    found["odd pair"] = odd_with(1.0, Map{}, Half{15}, true, word);
    found["odd map"] = odd_with(Pair{1, 2}, Pair{1, 2}, Half{15}, true, word);
    found["odd half"] = odd_with(Pair{1, 2}, Map{}, 1.5, true, word);
    found["odd bool"] = odd_with(Pair{1, 2}, Map{}, Half{15}, 2, word);
    found["odd word"] = odd_with(Pair{1, 2}, Map{}, Half{15}, 1, reinterpret_cast<std::uint32_t*>(4096));
    std::copy_n(std::array<std::uint64_t, 5>{8, 8, 4, 4, 0}.begin(), 5, sizes);

    // Another device, and contexts that were reset
    hck::detail::Driver& driver = hck::detail::Driver::get();
    driver.cuCtxSetCurrent(driver.primary(1));
    saxpy.launch({1, 32}, y, x, 7, 1.0f);
    driver.cuCtxSetCurrent(driver.primary(0));
    saxpy.launch({1, 32}, y, x, 7, 1.0f);
    of_driver<std::uint64_t>("reset") = 1;
    saxpy.launch({1, 32}, y, x, 8, 1.0f);
    found["libraries"] = std::to_string(of_driver<std::uint64_t>("libraries"));
    found["launches"] = std::to_string(of_driver<std::uint64_t>("launches") - before);

    // A kernel keeps its store
    const hck::Kernel kept = hck::Store::folder(path).get_kernel("saxpy");
    found["kept"] = told([&] { kept.launch({1, 32}, y, x, 9, 1.0f); });

    // Threads at once, while the context is reset
    sizes[0] = 0;
    const hck::Store fresh = hck::Store::folder(path);
    std::vector<std::thread> threads;
    std::string failures[4];
    for (std::string& failure : failures)
      threads.emplace_back([&fresh, &failure, y, x] {
        for (int i = 0; i < 200 && (failure.empty() || failure == "taken"); ++i)
          failure = told([&] { fresh.get_kernel("saxpy").launch({1, 32}, y, x, i, 1.0f); });
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) found["threads"] += failure + " ";
  }
  found["libraries at the end"] = std::to_string(of_driver<std::uint64_t>("libraries"));
  std::string out;
  for (const auto& [name, value] : found) out += (out.empty() ? "{" : ",\n ") + quoted(name) + ": " + quoted(value);
  std::cout << out << "}\n";
}

// Damaged stores

template <class Call>
static void survive(std::map<std::string, long>& outcomes, Call call) {
  try {
    call();
    ++outcomes["taken"];
  } catch (const hck::StoreError&) {
    ++outcomes["StoreError"];
  } catch (const hck::NoImageError&) {
    ++outcomes["NoImageError"];
  } catch (const hck::NotFoundError&) {
    ++outcomes["NotFoundError"];
  } catch (const hck::Error&) {
    ++outcomes["another error"];
  }  // anything else ends the program
}

template <class Open>
static void do_everything(std::map<std::string, long>& outcomes, Open open) {
  std::optional<hck::Store> made;
  survive(outcomes, [&] { made = open(); });
  if (!made) return;
  std::vector<std::string> names{"scale", "sum<float, 128>", "sum<float, 256>"};
  survive(outcomes, [&] {
    for (const std::string& name : made->kernels()) names.push_back(name);
  });
  names.resize(std::min<std::size_t>(names.size(), 6));
  for (const std::string& name : names) {
    for (const char* const arch : {"sm_90", "sm_87", "sm_101"}) survive(outcomes, [&] { made->explain_for(name, arch, hck::Version(12, 4)).text(); });
    survive(outcomes, [&] { made->find_image(name, "sm_90"); });
    survive(outcomes, [&] { made->get_kernel(name).launch({1, 32}, nullptr, 1, 2.0); });
    survive(outcomes, [&] { made->get_kernel(name).launch({1, 32}, nullptr); });
  }
  survive(outcomes, [&] { made->get_global("table").place(); });
  survive(outcomes, [&] { made->find_module("scale", {{"T", "float"}, {"N", "1"}}); });
  survive(outcomes, [&] { made->find_module("scale", {{"T", "a;b"}, {"N", "3"}}); });
}

static void fuzz() {
  of_driver<int (*)(const char*, const char*)>("judge") = take_all;
  std::map<std::string, long> outcomes;
  for (int kind; (kind = std::getchar()) != EOF;) {
    std::uint32_t size = 0;
    if (std::fread(&size, 4, 1, stdin) != 1) std::abort();
    const std::unique_ptr<char[]> data(new char[size]);  // of just this size, as above
    if (std::fread(data.get(), 1, size, stdin) != size) std::abort();
    if (kind == 'T') do_everything(outcomes, [&] { return hck::Store::embedded(data.get(), size); });
    if (kind == 'F') do_everything(outcomes, [&] { return hck::Store::folder(std::string(data.get(), size)); });
    if (kind == 'N') outcomes["names"] += hck::detail::template_of(hck::detail::key_of({data.get(), size})).size() <= 2 * size + 2;
  }
  std::string out;
  for (const auto& [name, count] : outcomes) out += (out.empty() ? "{" : ", ") + quoted(name) + ": " + std::to_string(count);
  std::cout << out << "}\n";
}

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "launch") return launch(words[2]), 0;
  if (mode == "fuzz") return fuzz(), 0;
  of_driver<int (*)(const char*, const char*)>("judge") = judge;
  const std::string text = read_all(std::cin);
  std::string out;
  Json::parse(text).each([&](const std::string&, const Json& one) {
    out += (out.empty() ? "[" : ",\n ") + (mode == "keys" ? quoted(hck::detail::key_of(one.text())) : answer(one));
  });
  std::cout << (out.empty() ? "[" : out) << "]\n";
}
