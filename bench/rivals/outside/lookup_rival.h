// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the drivers of external longest-prefix matches: a route file, addresses, a check of the answers, and
// timing. With the same seed the addresses equal those of `penumbra-bench run lookup` and `lookup6`. The file needs no
// code of Penumbra.
#pragma once

#include <arpa/inet.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace outside {

/// An address of 32 or 128 bits in host byte order.
template <unsigned kBits>
using AddressOf = std::conditional_t<kBits == 32, std::uint32_t, unsigned __int128>;

template <unsigned kBits>
AddressOf<kBits> mask_of(unsigned length) {
  return length == 0 ? 0 : static_cast<AddressOf<kBits>>(~AddressOf<kBits>{0} << (kBits - length));
}

template <unsigned kBits>
struct Route {
  AddressOf<kBits> address = 0;
  unsigned length = 0;
  std::uint32_t next_hop = 0;  ///< From 1.
};

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

/// Reads the lines "[KIND] PREFIX [REST]" of a file, sorted with shorter prefixes first. Lines with equal KIND and REST
/// have the same next hop.
template <unsigned kBits>
std::vector<Route<kBits>> read_routes(const char* file) {
  std::ifstream in(file);
  std::vector<Route<kBits>> routes;
  std::map<std::string, std::uint32_t> next_hops;
  std::string prefix, kind, rest;
  while (in >> prefix) {
    kind.clear();
    if (prefix.find('/') == std::string::npos) {  // A kind, such as blackhole.
      kind = prefix;
      in >> prefix;
    }
    std::getline(in, rest);
    const auto slash = prefix.find('/');
    std::array<std::uint8_t, kBits / 8> bytes;
    if (slash == std::string::npos ||
        inet_pton(kBits == 32 ? AF_INET : AF_INET6, prefix.substr(0, slash).c_str(), bytes.data()) != 1) {
      give_up(std::string(file) + ": no prefix: " + prefix);
    }
    Route<kBits> route;
    for (const std::uint8_t byte : bytes) route.address = route.address << 8 | byte;
    route.length = static_cast<unsigned>(std::stoul(prefix.substr(slash + 1)));
    route.next_hop = next_hops.try_emplace(kind + rest, static_cast<std::uint32_t>(next_hops.size() + 1)).first->second;
    routes.push_back(route);
  }
  if (routes.empty()) give_up(std::string(file) + ": no routes");
  std::ranges::sort(routes, {}, [](const auto& route) { return std::tuple(route.length, route.address); });
  return routes;
}

template <unsigned kBits>
struct Addresses {
  std::string name;
  std::vector<AddressOf<kBits>> list;
};

/// Draws addresses as bench/inputs.cc does: uniform over all (IPv4 only), over the prefixes, and Zipf over 100,000
/// flows.
template <unsigned kBits>
std::vector<Addresses<kBits>> draw_addresses(const std::vector<Route<kBits>>& routes, std::uint64_t seed) {
  constexpr std::size_t kCount = std::size_t{1} << (kBits == 32 ? 24 : 22);
  constexpr std::size_t kFlows = 100'000;
  constexpr double kExponent = 1.1;
  std::vector<Addresses<kBits>> sets;
  const auto from_prefix = [&routes](std::mt19937_64& random) {
    const Route<kBits>& route = routes[random() % routes.size()];
    AddressOf<kBits> low = static_cast<AddressOf<kBits>>(random());
    if constexpr (kBits == 128) low = low << 64 | random();
    return route.address | (low & ~mask_of<kBits>(route.length));
  };
  if constexpr (kBits == 32) {
    std::mt19937_64 random(seed);
    Addresses<kBits>& set = sets.emplace_back("uniform", std::vector<AddressOf<kBits>>(kCount));
    for (auto& address : set.list) address = static_cast<std::uint32_t>(random());
  }
  {
    std::mt19937_64 random(seed);
    Addresses<kBits>& set = sets.emplace_back("prefixes", std::vector<AddressOf<kBits>>(kCount));
    for (auto& address : set.list) address = from_prefix(random);
  }
  std::mt19937_64 random(seed);
  Addresses<kBits>& set = sets.emplace_back("trace", std::vector<AddressOf<kBits>>(kCount));
  std::vector<AddressOf<kBits>> flows(kFlows);
  for (auto& flow : flows) flow = from_prefix(random);
  std::vector<double> share(kFlows);  // Cumulative.
  double sum = 0;
  for (std::size_t k = 0; k < kFlows; ++k) share[k] = sum += std::pow(k + 1, -kExponent);
  std::uniform_real_distribution<double> draw(0, sum);
  for (auto& address : set.list) {
    const auto flow = static_cast<std::size_t>(std::ranges::upper_bound(share, draw(random)) - share.begin());
    address = flows[std::min(flow, kFlows - 1)];
  }
  return sets;
}

/// Returns the next hop of the longest prefix, or 0, by a hash table for each length.
template <unsigned kBits>
class Oracle {
 public:
  explicit Oracle(const std::vector<Route<kBits>>& routes) : of_length_(kBits + 1) {
    for (const auto& route : routes) of_length_[route.length][route.address] = route.next_hop;
  }
  std::uint32_t match(AddressOf<kBits> address) const {
    for (unsigned length = kBits + 1; length-- > 0;) {
      if (of_length_[length].empty()) continue;
      const auto found = of_length_[length].find(address & mask_of<kBits>(length));
      if (found != of_length_[length].end()) return found->second;
    }
    return 0;
  }

 private:
  struct Hash {
    std::size_t operator()(AddressOf<kBits> address) const {
      if constexpr (kBits == 128) address ^= address >> 64;
      return static_cast<std::uint64_t>(address) * 0x9E37'79B9'7F4A'7C15U >> 16;
    }
  };
  std::vector<std::unordered_map<AddressOf<kBits>, std::uint32_t, Hash>> of_length_;
};

inline double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Checks every 16th answer. Prints median, least and most million look-ups per second of `rounds` passes over the
/// keys, in batches whose answers overwrite each other. `look_up(keys, count, next_hops)` is the rival; `keys` are the
/// addresses in its format.
template <unsigned kBits, class Key, class LookUp>
void measure(const std::string& name, const Addresses<kBits>& set, const std::vector<Key>& keys,
             const Oracle<kBits>& oracle, unsigned rounds, LookUp look_up) {
  std::vector<std::uint32_t> all(keys.size());
  look_up(keys.data(), keys.size(), all.data());
  std::size_t wrong = 0, checked = 0;
  for (std::size_t i = 0; i < keys.size(); i += 16, ++checked) wrong += all[i] != oracle.match(set.list[i]);
  for (const std::size_t batch : {std::size_t{64}, std::size_t{4096}}) {
    std::array<std::uint32_t, 4096> found;
    std::vector<double> rates;
    for (unsigned round = 0; round < rounds; ++round) {
      const double begin = thread_seconds();
      for (std::size_t at = 0; at < keys.size(); at += batch) {
        look_up(keys.data() + at, std::min(batch, keys.size() - at), found.data());
        asm volatile("" : : "g"(found.data()) : "memory");
      }
      rates.push_back(static_cast<double>(keys.size()) / (thread_seconds() - begin) * 1e-6);
    }
    std::ranges::sort(rates);
    std::printf("%-10s %5zu  %-12s %7.1f (%.1f .. %.1f) M/s, %zu of %zu answers wrong\n", set.name.c_str(), batch,
                name.c_str(), rates[rates.size() / 2], rates.front(), rates.back(), wrong, checked);
  }
}

}  // namespace outside
