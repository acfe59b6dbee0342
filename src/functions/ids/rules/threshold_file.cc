// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/threshold_file.h"

#include <array>
#include <optional>

#include "functions/ids/rules/source.h"
#include "functions/ids/rules/threshold_words.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

using Kind = ThresholdEntry::Kind;
using Who = ThresholdEntry::Who;

class EntryReader {
 public:
  EntryReader(const RuleSource& source, HeaderSets& sets) : source_(source), sets_(sets) {}

  ThresholdEntry read() {
    const auto [kind, rest] = split_name(source_.text());
    if (kind == "suppress") {
      entry_.kind = Kind::suppress;
    } else if (kind == "threshold" || kind == "event_filter") {
      entry_.kind = Kind::threshold;
    } else if (kind == "rate_filter") {
      entry_.kind = Kind::rate_filter;
    } else {
      throw source_.error(kind, "line is neither suppress, threshold, event_filter nor rate_filter");
    }
    read_words(rest);
    check(kind);
    return entry_;
  }

 private:
  void read_words(std::string_view rest) {
    while (!rest.empty()) {
      const std::size_t end = end_of_word(rest);
      const auto [name, value] = split_name(rest.substr(0, end));
      if (!take(name, value)) throw source_.error(rest.substr(0, end), "word is not understood");
      rest = end == rest.size() ? std::string_view{} : trim_left(rest.substr(end + 1));
    }
  }

  /// Returns the position of the next comma outside brackets.
  static std::size_t end_of_word(std::string_view text) {
    int open = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '[') ++open;
      if (text[i] == ']') --open;
      if (text[i] == ',' && open == 0) return i;
    }
    return text.size();
  }

  static bool take_number(std::string_view value, std::optional<std::uint32_t>& number) {
    const auto parsed = parse_unsigned(value);
    if (!parsed || *parsed > 0xFFFFFFFF || number) return false;
    number = static_cast<std::uint32_t>(*parsed);
    return true;
  }

  bool take(std::string_view name, std::string_view value) {
    if (name == "gen_id") return take_number(value, gid_);
    if (name == "sig_id") return take_number(value, sid_);
    if (entry_.kind == Kind::suppress) return take_suppress(name, value);
    if (entry_.kind == Kind::rate_filter && name == "timeout") return take_number(value, timeout_);
    if (entry_.kind == Kind::rate_filter && name == "new_action") return take_action(value);
    return words_.take(name, value) == ThresholdWords::Outcome::taken;
  }

  bool take_suppress(std::string_view name, std::string_view value) {
    if (name == "track" && entry_.who == Who::none) {
      entry_.who = value == "by_src"      ? Who::source
                   : value == "by_dst"    ? Who::destination
                   : value == "by_either" ? Who::either
                                          : Who::none;
      return entry_.who != Who::none;
    }
    if (name != "ip" || value.empty() || entry_.addresses != nullptr) return false;
    entry_.addresses = sets_.addresses(source_, value);
    return true;
  }

  bool take_action(std::string_view value) {
    struct Named {
      std::string_view name;
      Action action;
    };
    constexpr std::array kActions = std::to_array<Named>(
        {{"alert", Action::alert}, {"drop", Action::drop}, {"pass", Action::pass}, {"reject", Action::reject}});
    for (const Named& named : kActions) {
      if (named.name != value || has_action_) continue;
      entry_.new_action = named.action;
      has_action_ = true;
      return true;
    }
    return false;
  }

  void check(std::string_view kind) {
    if (!gid_ || !sid_) throw source_.error(kind, "line has no gen_id and sig_id");
    entry_.gid = *gid_;
    entry_.sid = *sid_;
    if (entry_.kind == Kind::suppress) {
      if ((entry_.who == Who::none) != (entry_.addresses == nullptr)) {
        throw source_.error(kind, "line has 'track' without 'ip', or 'ip' without 'track'");
      }
      return;
    }
    entry_.threshold = words_.threshold();
    if (!words_.is_complete() || words_.has_type() != (entry_.kind == Kind::threshold)) {
      throw source_.error(kind, "line lacks track, count, seconds or type");
    }
    if (entry_.kind == Kind::rate_filter) {
      if (!timeout_ || !has_action_) throw source_.error(kind, "line lacks new_action or timeout");
      entry_.timeout = *timeout_;
    }
  }

  const RuleSource& source_;
  HeaderSets& sets_;
  ThresholdEntry entry_;
  ThresholdWords words_;
  std::optional<std::uint32_t> gid_, sid_, timeout_;
  bool has_action_ = false;
};

}  // namespace

std::vector<ThresholdEntry> read_threshold_file(std::string_view text, const std::string& file, HeaderSets& sets) {
  std::vector<ThresholdEntry> entries;
  LineJoiner lines(file, text);
  while (const auto line = lines.next()) entries.push_back(EntryReader(*line, sets).read());
  return entries;
}

}  // namespace penumbra::ids
