// SPDX-License-Identifier: Apache-2.0
//
// Adds and removes neighbours together with their adjacencies.
#pragma once

#include "functions/forwarding/fib.h"

namespace penumbra::forwarding {

template <class Family>
void Fib<Family>::set_neighbour(const Neighbour& neighbour) {
  set_neighbour(port_index(neighbour.port), neighbour.address, neighbour.mac);
}

template <class Family>
void Fib<Family>::set_neighbour(std::uint16_t port, Address address, MacAddress mac) {
  const std::lock_guard lock(mutex_);
  make_room();
  const auto old = next_hops_.neighbour(port, address);
  if (!next_hops_.set_neighbour(port, address, mac) || old) return;

  const Prefix host{address, kHost};
  const Routes routes = routes_of(host);
  const auto at = adjacencies_.try_emplace(address).first;
  at->second.ports.insert(port);
  remember(host, routes);  // the table alone can no longer distinguish a route from an adjacency
  try {
    const auto [length, cover] = cover_of(address, kHost - 1);
    const AdjacencyChange change{at, length, acquire_adjacency(at->first, at->second, cover)};
    try {
      if (const auto step = adjacency_step(change)) take({&*step, 1});
    } catch (...) {
      if (change.set) next_hops_.release(*change.set);
      throw;
    }
    settle(change);
  } catch (...) {
    forget_port(at, port);
    next_hops_.remove_neighbour(port, address);
    throw;
  }
}

template <class Family>
bool Fib<Family>::remove_neighbour(Address address, const std::string& port) {
  return remove_neighbour(port_index(port), address);
}

template <class Family>
bool Fib<Family>::remove_neighbour(std::uint16_t port, Address address) {
  const std::lock_guard lock(mutex_);
  if (!next_hops_.neighbour(port, address)) return false;
  make_room();
  const auto at = adjacencies_.find(address);
  Adjacency rest = at->second;
  rest.ports.erase(port);
  const auto [length, cover] = cover_of(address, kHost - 1);
  const AdjacencyChange change{at, length, acquire_adjacency(address, rest, cover)};
  try {
    if (const auto step = adjacency_step(change)) take({&*step, 1});
  } catch (...) {
    if (change.set) next_hops_.release(*change.set);
    throw;
  }
  next_hops_.remove_neighbour(port, address);  // cannot fail after make_room()
  settle(change);
  forget_port(at, port);
  return true;
}

template <class Family>
void Fib<Family>::forget_port(typename Adjacencies::iterator at, std::uint16_t port) {
  at->second.ports.erase(port);
  if (!at->second.ports.empty()) return;
  const Prefix host{at->first, kHost};
  const Routes routes = routes_of(host);
  adjacencies_.erase(at);
  remember(host, routes);
}

}  // namespace penumbra::forwarding
