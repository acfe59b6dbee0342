// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "dir24_8.gopt.h"
#include "gopt/comparators/amac.h"
#include "gopt/comparators/group_prefetch.h"
#include "gopt/footprint.h"
#include "gopt/workload.h"

namespace penumbra::bench {
namespace {

class Ipv4 final : public Workload {
 public:
  Ipv4(const InputTable& routes, const InputAddresses& set)
      : Workload("IPv4", static_cast<std::uint32_t>(set.addresses.size())), table_(no_readers_) {
    table_.load(routes.entries);
    view_ = *static_cast<const dir24_8_view*>(table_.table().view());
    addresses_ = set.addresses;
    addresses_.resize(items, set.addresses.front());
    Footprint footprint(kFirstTable);
    std::uint64_t second = 0;
    for (const std::uint32_t address : addresses_) {
      const std::size_t slot = address >> 8;
      footprint.add(slot * sizeof(std::uint16_t));
      second += view_.tbl24[slot] >= DIR24_8_NEXT_HOPS && view_.tbl24[slot] != DIR24_8_NO_ROUTE ? 1 : 0;
    }
    accesses = 1 + static_cast<double>(second) / items;
    input = fmt::format("{}; {} addresses, {}, which read {} MiB of the table", routes.description, items,
                        set.description, footprint.mebibytes());
    table = {reinterpret_cast<const std::byte*>(view_.tbl24), kFirstTable};
    set_right(next_hops<penumbra::Ipv4>(Oracle(routes.entries), addresses_));
    add_ways();
  }

 private:
  static constexpr std::size_t kFirstTable = sizeof(std::uint16_t) << 24;

  void add_ways() {
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      dir24_8_lookup(view_, &addresses_[first], found_from<std::uint16_t>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      dir24_8_lookup_gopt(view_, &addresses_[first], found_from<std::uint16_t>(first), n, size);
                    }});
    ways.push_back(by_group_prefetching([this](std::uint32_t first) {
      return Ipv4Groups{view_, &addresses_[first], found_from<std::uint16_t>(first)};
    }));
    ways.push_back(by_amac(
        [this](std::uint32_t first) { return Ipv4Amac{view_, &addresses_[first], found_from<std::uint16_t>(first)}; }));
  }

  NoReaders no_readers_;
  Dir24_8 table_;
  std::vector<std::uint32_t> addresses_;
  dir24_8_view view_{};
};

}  // namespace

std::unique_ptr<Workload> make_ipv4(const InputTable& routes, const InputAddresses& addresses) {
  return std::make_unique<Ipv4>(routes, addresses);
}

}  // namespace penumbra::bench
