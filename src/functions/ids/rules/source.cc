// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/source.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {

RuleSource::RuleSource(std::string file, int line, std::string_view text) : file_(std::move(file)) {
  append(line, text);
}

void RuleSource::append(int line, std::string_view text) {
  pieces_.push_back({text_.size(), line});
  text_ += text;
}

SourceLocation RuleSource::location(std::string_view part) const {
  const auto offset = static_cast<std::size_t>(part.data() - text_.data());
  const auto after = std::ranges::upper_bound(pieces_, offset, {}, &Piece::offset);
  const Piece& piece = *std::prev(after);
  return {file_, piece.line, static_cast<int>(offset - piece.offset) + 1};
}

RuleError RuleSource::error(std::string_view part, const std::string& reason, const std::string& hint) const {
  return {location(part), reason, reason + ": " + quote(part) + hint};
}

std::string_view LineJoiner::physical_line() {
  const std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return line;
}

namespace {

bool is_disabled_rule(std::string_view comment) {
  comment = trim(comment.substr(std::min(comment.find_first_not_of("# \t"), comment.size())));
  const std::string_view word = comment.substr(0, comment.find_first_of(" \t"));
  constexpr std::array<std::string_view, 4> kActions{"alert", "drop", "pass", "reject"};
  return std::ranges::find(kActions, word) != kActions.end() && comment.ends_with(')');
}

}  // namespace

std::optional<RuleSource> LineJoiner::next() {
  while (!rest_.empty()) {
    std::string_view line = physical_line();
    const std::string_view start = trim(line);
    if (start.empty()) continue;
    if (start.front() == '#') {
      disabled_ += is_disabled_rule(start) ? 1 : 0;
      continue;
    }
    std::string_view end = trim_right(line);
    const bool continues = end.ends_with('\\');
    RuleSource source(file_, line_, continues ? end.substr(0, end.size() - 1) : line);
    for (bool more = continues; more && !rest_.empty();) {
      line = physical_line();
      end = trim_right(line);
      more = end.ends_with('\\');
      source.append(line_, more ? end.substr(0, end.size() - 1) : line);
    }
    return source;
  }
  return std::nullopt;
}

}  // namespace penumbra::ids
