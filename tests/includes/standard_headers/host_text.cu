// Functions for both sides that work with the host's strings, streams and C's text; the kernel calls none.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
#define BOTH __host__ __device__
using namespace std::literals;

#if __cplusplus >= 201703L
constexpr std::string_view NAME = "abca";
static_assert(NAME.size() == 4 && NAME.find("c") == 2 && NAME == "abca" && NAME.rfind('a') == 3, "");
static_assert(NAME.substr(1, 2) == "bc" && NAME.find_first_not_of("ab") == 2 && NAME.find("d") == NAME.npos, "");
static_assert(NAME.find("") == 0 && NAME.rfind("") == 4 && NAME < "abd"sv && NAME.find_last_of("b") == 1, "");
BOTH bool view(std::string_view v) {
    std::string s(v);
    s += v;
    s = v;
    s.append(v);
    return v == s && s == v && s.find(v) == 0 && s.compare(v) == 0 && std::string_view(s) == v;
}
BOTH bool views(const std::string& s) { return view(s) && view("a") && view({"a", 2}); }
#endif

struct Shown {
    int n;
};
BOTH inline std::ostream& operator<<(std::ostream& out, const Shown& shown) { return out << shown.n; }

struct Text {
    std::string name = "a", list = {'a', 'b'};
    BOTH std::string str() const { return "x" + name + std::to_string(3) + 'c' + name.substr(1, 2) + std::string(3, 'x') + "a"s; }
    BOTH long work(const char* given) {
        name += "x";
        name += 'c';
        name.append("x").append(3, 'c');
        name[0] = 'c';
        name.insert(0, "x").erase(0, 2);
        name.replace(0, 1, "x");
        name.erase(name.find_last_not_of(" \t") + 1);
        std::transform(name.begin(), name.end(), name.begin(), [](char c) { return char(c + 1); });
        if (name == "a" || "a" != list || name < list || name.find('x') != std::string::npos || name.empty()) {
            name = std::string(name.begin(), name.end()) + name.c_str();
        }
        auto at = std::string::npos;
        at = name.find("x");
        std::hash<std::string> hash;
        return std::stoi(name) + name.compare("x") + name.length() + hash(name) + at + std::strlen(given);
    }
    BOTH long c(const char* given) {
        std::FILE* file = std::fopen(given, "r");
        char text[20];
        std::snprintf(text, 20, "%d", 3);
        fprintf(stderr, "a");
        std::fclose(file);
        errno = 3;
        std::srand(static_cast<unsigned>(std::time(nullptr)));
        std::time_t now = std::time(nullptr);
        std::strftime(text, 20, "%Y", std::localtime(&now));
        if (std::getenv("A") == nullptr || strstr(given, "a") != nullptr) {
            std::abort();
        }
        return std::isspace(*given) ? std::tolower(*given) : std::atoi(given) + std::rand() + std::strtol(given, nullptr, 10);
    }
};
BOTH inline void streams(std::ostream& out, const Shown& shown, std::vector<int>& v) {
    out << "a" << 3 << 'c' << 2.f << shown << std::endl << std::string("x") << &shown << true << std::hex << std::setw(3);
    out << std::setprecision(2) << std::setfill('0') << std::fixed << 3ull << short(2);
    out.setf(std::ios::fixed, std::ios::floatfield);
    std::cout << shown << "\n";
    std::cout.flush();
    streams(std::cerr, shown, v);
    std::ostringstream text;
    text << shown << 3;
    std::string all = text.str();
    std::stringstream both(all);
    int n;
    both >> n >> all;
    while (std::getline(both, all)) {
        std::cin >> n;
    }
    std::ifstream in("a", std::ios::in | std::ios::binary);
    if (!in || !in.is_open()) {
        return;
    }
    in.read(reinterpret_cast<char*>(&n), 4).seekg(0, std::ios::end);
    in.exceptions(std::ios::failbit);
    std::ofstream(all) << 3;
    std::copy(v.begin(), v.end(), std::ostream_iterator<int>(std::cout, " "));
    std::string rest((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::regex pattern("a+", std::regex::icase);
    std::smatch match;
    if (std::regex_match(all, match, pattern) || std::regex_search(all, pattern)) {
        all = match[1].str() + std::regex_replace(all, pattern, "x");
    }
}
struct Buffer : std::streambuf {
    BOTH int overflow(int c) override { return c; }
    BOTH int sync() override { return 0; }
};
extern "C" __global__ void kernel(float* x) { *x = 1; }
