// SPDX-License-Identifier: Apache-2.0
//
// Readers forward packets while all inputs of their forwarding decisions change. The result for each packet must have
// been correct at some moment between its arrival and its departure.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/testing_grace_periods.h"
#include "functions/ipv4/testing.h"

namespace penumbra::ipv4 {
namespace {

using namespace testing_support;

constexpr std::size_t kReaders = 2;
constexpr std::size_t kPlaces = 48;
constexpr std::size_t kChanges = 2500;

/// Holds the permitted results for a packet: MAC addresses, or one of the outcomes.
using Truth = std::set<std::string>;

/// Holds the sequence of permitted results for a destination. Version n is valid from some moment during change n to
/// some moment during change n + 1.
class History {
 public:
  explicit History(Truth first) : versions_(kChanges + 2) { versions_[0] = std::move(first); }
  /// The writer calls begin() and end() around a change.
  void begin(Truth truth) {
    versions_[begun_.load() + 1] = std::move(truth);
    begun_.fetch_add(1);
  }
  void end() { ended_.fetch_add(1); }
  /// Readers call ended() before a packet and was_true() after it.
  std::size_t ended() const { return ended_.load(); }
  bool was_true(std::size_t ended_before, const std::string& found) const {
    for (std::size_t version = ended_before; version <= begun_.load(); ++version) {
      if (versions_[version].contains(found)) return true;
    }
    return false;
  }
  const Truth& now() const { return versions_[begun_.load()]; }

 private:
  std::vector<Truth> versions_;
  std::atomic<std::size_t> begun_{0}, ended_{0};
};

/// Changes the table at random and records the permitted results. There are three kinds of destinations: /24s with
/// routes, addresses on a link, and neighbours on a link. A /24 leads to that link only at times.
class Churn {
 public:
  explicit Churn(Ipv4Fib& fib) : fib_(fib) {
    fib_.set_neighbour({ip("192.0.2.254"), "wan", {kGatewayMac}});
    list_.targets.push_back(via("192.0.2.254", "wan"));
    list_.targets.push_back(dev("bare"));
    list_.routes.push_back({net("70.0.0.0/8"), 0, kPlaces});
    for (std::size_t place = 0; place < kPlaces; ++place) {
      histories_.emplace_back(Truth{place % 3 == 0   ? "no_route"
                                    : place % 3 == 1 ? "unknown_neighbour"
                                                     : name(kGatewayMac)});
      if (place % 3 == 2) fib_.set_neighbour({destination(place), "bare", {kLinkMac}});
    }
    fib_.load(list_);
  }
  static Ipv4Address destination(std::size_t place) {
    const auto number = static_cast<std::uint32_t>(place);
    if (place % 3 == 1) return {0x0A000100 + number};
    return {(place % 3 == 0 ? 0x50000001 : 0x46000001) + number * 256};
  }
  const History& history(std::size_t place) const { return histories_[place]; }

  void change() {
    const std::size_t place = random_() % kPlaces;
    if (place % 3 == 0) change_route(place);
    if (place % 3 == 1) change_neighbour(place);
    if (place % 3 == 2) change_cover(place);
    if (random_() % 4 == 0) fib_.commit();
    if (random_() % 500 == 0) fib_.load(list_);
  }

 private:
  std::uint64_t new_mac() { return 0x0C0000000000 + ++last_mac_; }
  static constexpr std::uint64_t kGatewayMac = 0x0E0000000001, kLinkMac = 0x0E0000000002;
  static control::Neighbour neighbour(const control::NextHop& hop, std::uint64_t mac) {
    return {hop.gateway.value_or(Ipv4Address{}), hop.port, {mac}};
  }
  static std::string name(std::uint64_t mac) { return to_string(MacAddress{mac}); }

  static Ipv4Prefix around(std::size_t place) {
    Ipv4Prefix prefix{destination(place), 24};
    prefix.address.value &= prefix.mask();
    return prefix;
  }

  /// The result is the neighbour on the link or the gateway of the /8, but never the link without the neighbour.
  void change_cover(std::size_t place) {
    const Ipv4Prefix prefix = around(place);
    History& history = histories_[place];
    if (history.now().contains(name(kLinkMac))) {
      history.begin({name(kGatewayMac)});
      EXPECT_TRUE(fib_.remove_route(prefix, 0));
      std::erase_if(list_.routes, [&](const control::Route& route) { return route.prefix == prefix; });
    } else {
      history.begin({name(kLinkMac)});
      fib_.add_route(prefix, 0, dev("bare"));
      list_.routes.push_back({prefix, 0, kPlaces + 1});
    }
    history.end();
  }

  void change_route(std::size_t place) {
    const Ipv4Prefix prefix = around(place);
    History& history = histories_[place];
    const bool exists = !history.now().contains("no_route");
    const auto kind = random_() % 4;
    if (kind == 0 && exists) {
      history.begin({"no_route"});
      EXPECT_TRUE(fib_.remove_route(prefix, 0));
      std::erase_if(list_.routes, [&](const control::Route& route) { return route.prefix == prefix; });
    } else if (kind == 1 && exists) {  // a gateway gets another MAC address
      const auto& target = list_.targets[place];
      Truth truth = history.now();
      truth.erase(name(macs_[place].front()));
      macs_[place].front() = new_mac();
      truth.insert(name(macs_[place].front()));
      history.begin(truth);
      fib_.set_neighbour(neighbour(target.next_hops.front(), macs_[place].front()));
    } else {  // gateways that no other route uses
      for (const auto& old : list_.targets[place].next_hops) retired_.push_back(old);
      control::RouteTarget target;
      Truth truth;
      macs_[place].clear();
      for (std::uint64_t hops = 1 + random_() % 3; hops > 0; --hops) {
        target.next_hops.push_back({Ipv4Address{++last_gateway_}, hops % 2 == 0 ? "wan" : "bare", 1});
        macs_[place].push_back(new_mac());
        truth.insert(name(macs_[place].back()));
        fib_.set_neighbour(neighbour(target.next_hops.back(), macs_[place].back()));
      }
      history.begin(truth);
      fib_.replace_route(prefix, 0, target);
      list_.targets[place] = target;
      if (!exists) list_.routes.push_back({prefix, 0, static_cast<std::uint32_t>(place)});
    }
    history.end();
    for (const auto& old : retired_) fib_.remove_neighbour(old.gateway.value_or(Ipv4Address{}), old.port);
    retired_.clear();
  }

  void change_neighbour(std::size_t place) {
    History& history = histories_[place];
    if (random_() % 2 == 0 && !history.now().contains("unknown_neighbour")) {
      history.begin({"unknown_neighbour"});
      EXPECT_TRUE(fib_.remove_neighbour(destination(place), "lan"));
    } else {
      const std::uint64_t mac = new_mac();
      history.begin({name(mac)});
      fib_.set_neighbour({destination(place), "lan", {mac}});
    }
    history.end();
  }

  Ipv4Fib& fib_;
  std::mt19937_64 random_{1};
  std::deque<History> histories_;
  control::RouteList list_{.targets = std::vector<control::RouteTarget>(kPlaces, kBlackhole), .routes = {}};
  std::array<std::vector<std::uint64_t>, kPlaces> macs_;
  std::vector<control::NextHop> retired_;
  std::uint32_t last_gateway_ = 0x60000000;
  std::uint64_t last_mac_ = 0;
};

/// Forwards packets to all destinations until `stop` is set. Returns the number of packets, or 0 after a wrong result.
std::uint64_t forward(Ipv4Function& function, const Churn& churn, QuiescentStates& grace_periods, std::size_t reader,
                      const std::atomic<bool>& stop) {
  grace_periods.quiescent(reader);
  Runner runner(function);
  std::vector<oracle::Bytes> frames;
  std::vector<Packet> packets;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    frames.push_back(
        udp_frame(ip("198.51.100.1"), Churn::destination(place), 64, 60, static_cast<std::uint16_t>(reader)));
    packets.emplace_back(frames.back());
  }
  Chunk chunk;
  std::array<std::size_t, kPlaces> ended{};
  std::uint64_t forwarded = 0;
  for (std::uint16_t flow = 0; !stop.load(); ++flow) {
    for (std::size_t place = 0; place < kPlaces; ++place) {
      store(frames[place].data() + 36, flow);  // the destination port
      packets[place].bytes = frames[place];
      ended[place] = churn.history(place).ended();
    }
    runner.process(chunk, packets);
    for (std::size_t place = 0; place < kPlaces; ++place) {
      std::string found = reason_of(function, chunk.verdicts[place]);
      if (found.empty()) found = to_string(MacAddress{oracle::mac(packets[place].bytes, 0)});
      if (!churn.history(place).was_true(ended[place], found)) {
        ADD_FAILURE() << to_string(Churn::destination(place)) << " went to " << found;
        grace_periods.leave(reader);
        return 0;
      }
    }
    forwarded += kPlaces;
    grace_periods.quiescent(reader);
  }
  grace_periods.leave(reader);
  return forwarded;
}

TEST(Ipv4Live, NoPacketGoesWhereItWasNeverRight) {
  QuiescentStates grace_periods(kReaders);
  for (std::size_t reader = 0; reader < kReaders; ++reader) grace_periods.leave(reader);
  const std::vector<PortInfo> ports = router_ports();
  Ipv4Function function{{ports, grace_periods}};
  Churn churn(function.fib());
  std::atomic<bool> stop{false};
  std::array<std::uint64_t, kReaders> forwarded{};
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] { forwarded[reader] = forward(function, churn, grace_periods, reader, stop); });
  }
  for (std::size_t i = 0; i < kChanges; ++i) churn.change();
  stop = true;
  for (auto& thread : readers) thread.join();
  for (const std::uint64_t packets : forwarded) EXPECT_GT(packets, 0U);
  EXPECT_LT(function.fib().next_hop_sets(), 200U) << "what went out of use is gone";
}

}  // namespace
}  // namespace penumbra::ipv4
