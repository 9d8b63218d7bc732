// Functions for both sides that work with the host's containers; the kernel calls none. g++ takes the same text.
#include <algorithm>
#include <deque>
#include <forward_list>
#include <iterator>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <stack>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#define BOTH __host__ __device__

struct Order {
    BOTH bool operator()(int a, int b) const { return b < a; }
};
struct Sequences {
    std::vector<int> v;
    std::vector<bool> bits;
    std::vector<Sequences> nested;
    BOTH auto begin() { return v.begin(); }
    BOTH auto end() const { return v.end(); }
    BOTH int work() {
        v.push_back(3);
        v.emplace_back(4);
        v.insert(v.end(), v.begin(), v.begin() + 3);
        v.insert(v.begin(), {1, 2, 3});
        for (auto& x : v) {
            x += static_cast<int>(v.size());
        }
        for (bool bit : bits) {
            bits[3] = !bit;
        }
        std::vector<int> w(v.rbegin(), v.rend());
        std::vector<int>::const_iterator at = v.begin();
        std::sort(v.begin(), v.end());
        std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
        v.erase(std::remove(v.begin(), v.end(), 3), v.end());
        std::copy(v.begin(), v.end(), std::back_inserter(w));
        v.resize(std::distance(v.begin(), max_element(v.begin(), v.end())));
        std::swap(v, w);
        swap(v, w);
        w = std::move(v);
        std::list<int> l(v.begin(), v.end());
        l.sort();
        l.splice(l.begin(), l);
        std::forward_list<float> f;
        f.insert_after(f.begin(), 2.f);
        std::deque<Sequences> d(3);
        d.emplace_front();
        return v == w || v < w ? at[0] + v.at(1) + *v.data() + l.back() : static_cast<int>(d.size() - v.capacity());
    }
};
struct Tables {
    std::map<int, float> m{{1, 2.f}, {3, 4.f}};
    std::map<int, Tables> nested;
    std::set<int, Order> s;
    std::unordered_map<int, float> u;
    std::unordered_set<int> h;
    BOTH float work() {
        m[3] = 2;
        auto found = m.find(3);
        if (found == m.end()) {
            return found->second;
        }
        m.insert({1, 2.f});
        m.insert(std::make_pair(1, 3));
        auto inserted = m.insert(std::make_pair(2, 3.f));
        inserted.first->second += inserted.second;
        m.emplace(1, 2.f);
        m.erase(found);
        m.erase(1);
        m.erase(m.cbegin());
        for (auto& item : m) {
            item.second += item.first;
        }
        m.lower_bound(3)->second = u.at(1);
        u.insert({1, 2.f});
        u.reserve(30);
        u.erase(u.begin());
        s.insert({1, 2, 3});
        h.insert(h.end(), 4);
        std::multimap<int, int> all;
        auto range = all.equal_range(3);
        for (auto it = range.first; it != range.second; ++it) {
            m[it->second] = 1;
        }
        std::priority_queue<int> first;
        first.push(3);
        first.pop();
        std::stack<Tables*> stack;
        stack.push(this);
        std::queue<int> queue;
        queue.push(2);
        return m == m && u.count(2) ? stack.top()->m.rbegin()->second : first.top() + queue.front();
    }
};
static_assert(!std::is_constructible<std::vector<int>, float*>::value, "");
static_assert(std::is_same<std::iterator_traits<std::list<int>::iterator>::iterator_category,
                           std::bidirectional_iterator_tag>::value, "");
extern "C" __global__ void kernel(float* x) { *x = 1; }
