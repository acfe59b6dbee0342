// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/threshold_words.h"

#include <array>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array kTypes = std::to_array<Named<Threshold::Type>>({{"limit", Threshold::Type::limit},
                                                                     {"threshold", Threshold::Type::threshold},
                                                                     {"both", Threshold::Type::both},
                                                                     {"backoff", Threshold::Type::backoff}});
constexpr std::array kTracks = std::to_array<Named<Track>>({{"by_src", Track::source},
                                                            {"by_dst", Track::destination},
                                                            {"by_both", Track::both},
                                                            {"by_rule", Track::rule},
                                                            {"by_flow", Track::flow}});
constexpr std::array kUniquePorts = std::to_array<Named<Threshold::UniqueOn>>(
    {{"src_port", Threshold::UniqueOn::source_port}, {"dst_port", Threshold::UniqueOn::destination_port}});

template <class Names, class Value>
bool find(const Names& names, std::string_view name, Value& value) {
  for (const auto& named : names) {
    if (named.name != name) continue;
    value = named.value;
    return true;
  }
  return false;
}

}  // namespace

ThresholdWords::Outcome ThresholdWords::note(Word word) {
  if (has(word)) return Outcome::repeated;
  found_ |= word;
  return Outcome::taken;
}

ThresholdWords::Outcome ThresholdWords::take_number(std::uint32_t& number, std::string_view value, Word word) {
  const auto parsed = parse_unsigned(value);
  if (!parsed || *parsed == 0 || *parsed > 0xFFFFFFFF) return Outcome::wrong;
  number = static_cast<std::uint32_t>(*parsed);
  return note(word);
}

ThresholdWords::Outcome ThresholdWords::take(std::string_view name, std::string_view value) {
  if (name == "type") return find(kTypes, value, threshold_.type) ? note(kType) : Outcome::wrong;
  if (name == "track") return find(kTracks, value, threshold_.track) ? note(kTrack) : Outcome::wrong;
  if (name == "unique_on") return find(kUniquePorts, value, threshold_.unique_on) ? note(kUniqueOn) : Outcome::wrong;
  if (name == "count") return take_number(threshold_.count, value, kCount);
  if (name == "seconds") return take_number(threshold_.seconds, value, kSeconds);
  if (name == "multiplier") return take_number(threshold_.multiplier, value, kMultiplier);
  return Outcome::unknown;
}

bool ThresholdWords::is_complete() const {
  const bool is_backoff = has_type() && threshold_.type == Threshold::Type::backoff;
  return has(kTrack) && has(kCount) && has(is_backoff ? kMultiplier : kSeconds);
}

}  // namespace penumbra::ids
