// SPDX-License-Identifier: Apache-2.0
//
// Measures planb-lpm, IPv6 prefixes of up to 64 bits: planb_lpm ROUTES [ROUNDS]
#include <cstdint>
#include <cstdlib>
#include <lpm6.hpp>
#include <string>
#include <vector>

#include "lookup_rival.h"

namespace {

template <std::size_t kTogether>
void measure_batch(const lpm6::Tree& tree, const outside::Addresses<128>& set, const std::vector<std::uint64_t>& keys,
                   const outside::Oracle<128>& oracle, unsigned rounds) {
  outside::measure("batch<" + std::to_string(kTogether) + ">", set, keys, oracle, rounds,
                   [&tree](const std::uint64_t* addresses, std::size_t count, std::uint32_t* next_hops) {
                     for (std::size_t i = 0; i < count; i += kTogether) {
                       tree.lookup_batch<kTogether>(addresses + i, reinterpret_cast<int*>(next_hops) + i);
                     }
                   });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) outside::give_up("planb_lpm ROUTES [ROUNDS]");
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 5;
  auto routes = outside::read_routes<128>(argv[1]);
  std::erase_if(routes, [](const auto& route) { return route.length > 64; });
  std::vector<lpm6::Entry> entries;
  for (const auto& route : routes) {
    entries.push_back({static_cast<std::uint64_t>(route.address >> 64), static_cast<int>(route.length),
                       static_cast<int>(route.next_hop)});
  }
  lpm6::Tree tree;
  tree.build(entries);
  std::printf("%zu prefixes, depth %d, %zu KiB\n", entries.size(), tree.depth(), tree.footprint_bytes() >> 10);
  const outside::Oracle<128> oracle(routes);
  for (const auto& set : outside::draw_addresses(routes, 1)) {
    std::vector<std::uint64_t> keys;
    for (const auto address : set.list) keys.push_back(static_cast<std::uint64_t>(address >> 64));
    outside::measure("one by one", set, keys, oracle, rounds,
                     [&tree](const std::uint64_t* addresses, std::size_t count, std::uint32_t* next_hops) {
                       for (std::size_t i = 0; i < count; ++i) {
                         next_hops[i] = static_cast<std::uint32_t>(tree.lookup(addresses[i]));
                       }
                     });
    measure_batch<8>(tree, set, keys, oracle, rounds);
    measure_batch<16>(tree, set, keys, oracle, rounds);
    measure_batch<32>(tree, set, keys, oracle, rounds);
  }
}
