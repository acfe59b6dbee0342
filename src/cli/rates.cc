// SPDX-License-Identifier: Apache-2.0
#include "cli/rates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/run_summary.h"

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

/// Columns that identify a row of a topic.
constexpr std::array<std::string_view, 7> kIdentity{"name", "direction", "queue", "worker", "stage", "reason", "kind"};

/// The names of a counter of packets, its counter of bytes, and their rates.
struct Counters {
  const char* packets;
  const char* bytes;
  const char* packet_rate;
  const char* bit_rate;
};
constexpr std::array<Counters, 3> kCounters{
    Counters{"rx_packets", "rx_bytes", "rx_packets_per_second", "rx_wire_bits_per_second"},
    Counters{"tx_packets", "tx_bytes", "tx_packets_per_second", "tx_wire_bits_per_second"},
    Counters{"packets", "bytes", "packets_per_second", "wire_bits_per_second"}};

/// A ratio for the interval: the increase of one counter divided by that of another.
struct Ratio {
  const char* name;
  const char* part;
  const char* whole;
};
constexpr std::array<Ratio, 4> kRatios{Ratio{"burst", "packets", "chunks"}, Ratio{"busy", "busy_cycles", "cycles"},
                                       Ratio{"asleep", "asleep_cycles", "cycles"},
                                       Ratio{"cycles_per_packet", "busy_cycles", "packets"}};

bool is_identity(std::string_view key) {
  return std::ranges::find(kIdentity, key) != kIdentity.end();
}

const Counters* counters_of(const std::string& key) {
  const auto* found =
      std::ranges::find_if(kCounters, [&](const Counters& each) { return key == each.packets || key == each.bytes; });
  return found == kCounters.end() ? nullptr : found;
}

json identity_of(const json& row) {
  auto identity = json::array();
  for (const auto& key : kIdentity) identity.push_back(row.value(std::string(key), json()));
  return identity;
}

/// Returns the row of `rows` with the same identity, or an empty row.
json same_row(const json& rows, const json& row) {
  const json identity = identity_of(row);
  const auto found = std::ranges::find_if(rows, [&](const json& each) { return identity_of(each) == identity; });
  return found == rows.end() ? json::object() : *found;
}

std::uint64_t number(const json& row, const char* key) {
  return row.value(key, std::uint64_t{0});
}

bool went_back(const json& before, const json& now) {
  return std::ranges::any_of(now, [&](const json& row) {
    const json earlier = same_row(before, row);
    return std::ranges::any_of(kCounters, [&](const Counters& each) {
      return row.contains(each.packets) && number(row, each.packets) < number(earlier, each.packets);
    });
  });
}

double two_decimals(double value) {
  constexpr double kHundredths = 100;
  return std::round(value * kHundredths) / kHundredths;
}

/// Builds the columns of one row.
class RatedRow {
 public:
  RatedRow(const json& before, const json& row, double seconds, bool known)
      : before_(same_row(before, row)), row_(row), seconds_(seconds), known_(known) {}

  json take() {
    for (const auto& [key, value] : row_.items()) {
      const Counters* counters = counters_of(key);
      if (counters != nullptr) {
        rated_[key] = value;
        add_rate(*counters, key);
        counting_ = true;
      } else if (is_identity(key) || (counting_ && value.is_number() && !is_ratio(key))) {
        rated_[key] = value;
      }
    }
    if (row_.contains("counters")) add_ratios();
    return std::move(rated_);
  }

 private:
  static bool is_ratio(const std::string& key) {
    return std::ranges::any_of(kRatios, [&](const Ratio& each) { return key == each.name; });
  }

  std::uint64_t growth(const char* key) const { return number(row_, key) - number(before_, key); }

  void add_rate(const Counters& counters, const std::string& key) {
    const bool bits = key == counters.bytes;
    json& rate = rated_[bits ? counters.bit_rate : counters.packet_rate];
    if (!known_ || seconds_ <= 0) return;  // the rate stays null
    const std::chrono::nanoseconds elapsed(std::llround(seconds_ * 1e9));
    const runtime::Traffic traffic{growth(counters.packets), growth(counters.bytes)};
    rate = bits ? wire_bits_per_second(traffic, elapsed) : packets_per_second(traffic, elapsed);
  }

  /// Raw counters are in an object of their own, except `packets`.
  std::uint64_t raw_growth(const char* key) const {
    if (row_.contains(key)) return growth(key);
    return number(row_["counters"], key) - number(before_.value("counters", json::object()), key);
  }

  void add_ratios() {
    for (const auto& ratio : kRatios) {
      if (!row_.contains(ratio.name)) continue;
      const std::uint64_t whole = known_ ? raw_growth(ratio.whole) : 0;
      rated_[ratio.name] = json();
      if (whole == 0) continue;
      rated_[ratio.name] = two_decimals(static_cast<double>(raw_growth(ratio.part)) / static_cast<double>(whole));
    }
  }

  const json before_;
  const json& row_;
  const double seconds_;
  const bool known_;
  bool counting_ = false;  ///< columns before the first counter are descriptive
  json rated_ = json::object();
};

}  // namespace

json with_rates(const json& before, const json& now, double seconds) {
  const bool known = before.is_array() && !went_back(before, now);
  auto rows = json::array();
  for (const auto& row : now) rows.push_back(RatedRow(before, row, seconds, known).take());
  return rows;
}

}  // namespace penumbra::cli
