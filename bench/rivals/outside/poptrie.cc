// SPDX-License-Identifier: Apache-2.0
//
// Measures Poptrie's reference implementation: poptrie 4|6 ROUTES [ROUNDS]
#include <poptrie.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "lookup_rival.h"

namespace {

// Binary logarithms of the numbers of nodes and leaves. Poptrie's own 19 and 22 are for the 500,000 prefixes of 2014.
constexpr int kNodes = 20, kLeaves = 23;

template <unsigned kBits>
void run(const char* file, unsigned rounds) {
  const auto routes = outside::read_routes<kBits>(file);
  poptrie* table = poptrie_init(nullptr, kNodes, kLeaves);
  if (table == nullptr) outside::give_up("poptrie_init");
  for (const auto& route : routes) {
    void* next_hop = reinterpret_cast<void*>(std::uintptr_t{route.next_hop});
    int result;
    if constexpr (kBits == 32) {
      result = poptrie_route_add(table, route.address, static_cast<int>(route.length), next_hop);
    } else {
      result = poptrie6_route_add(table, route.address, static_cast<int>(route.length), next_hop);
    }
    if (result != 0) outside::give_up("poptrie_route_add");
  }
  const outside::Oracle<kBits> oracle(routes);
  for (const auto& set : outside::draw_addresses(routes, 1)) {
    const auto look_up = [table](const auto* addresses, std::size_t count, std::uint32_t* next_hops) {
      for (std::size_t i = 0; i < count; ++i) {
        void* found;
        if constexpr (kBits == 32) {
          found = poptrie_lookup(table, addresses[i]);
        } else {
          found = poptrie6_lookup(table, addresses[i]);
        }
        next_hops[i] = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(found));
      }
    };
    outside::measure("poptrie", set, set.list, oracle, rounds, look_up);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) outside::give_up("poptrie 4|6 ROUTES [ROUNDS]");
  const unsigned rounds = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 5;
  std::strcmp(argv[1], "4") == 0 ? run<32>(argv[2], rounds) : run<128>(argv[2], rounds);
}
