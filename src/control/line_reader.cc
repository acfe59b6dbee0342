// SPDX-License-Identifier: Apache-2.0
#include "control/line_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace penumbra::control {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";     // Includes line ends, for lines with continuation lines.
constexpr std::string_view kWordEnds = " \t\r\n#";  // Includes '#', which begins a comment.

std::string join(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + words[i];
  return text + (words.size() > kMost ? ", ..." : "");
}

}  // namespace

std::size_t Line::skip_blanks() const {
  std::size_t at = text_.find_first_not_of(kBlanks, at_);
  while (at < text_.size() && text_[at] == '#') at = text_.find_first_not_of(kBlanks, text_.find('\n', at));
  return std::min(at, text_.size());
}

std::string_view Line::peek() const {
  const std::size_t begin = skip_blanks();
  return text_.substr(begin, std::min(text_.find_first_of(kWordEnds, begin), text_.size()) - begin);
}

std::string_view Line::take() {
  const std::string_view word = peek();
  at_ = skip_blanks() + word.size();
  return word;
}

std::string_view Line::require(std::string_view expected) {
  const std::string_view word = take();
  if (word.empty()) throw error(word, "expected " + std::string(expected) + ", found the end of the line");
  return word;
}

bool Line::skip_attribute(std::string_view word, std::span<const Attribute> attributes) {
  const auto found = std::ranges::find(attributes, word, &Attribute::word);
  if (found == attributes.end()) return false;
  if (found->form == Attribute::Form::flag) return true;
  if (found->form == Attribute::Form::lockable && peek() == "lock") take();
  require("a value of '" + std::string(word) + "'");
  return true;
}

std::string_view Line::rest() const {
  return text_.substr(skip_blanks());
}

InputError Line::error(std::string_view word, const std::string& message) const {
  const std::string_view before = text_.substr(0, static_cast<std::size_t>(word.data() - text_.data()));
  const auto ends = static_cast<int>(std::ranges::count(before, '\n'));
  const std::size_t line_begin = before.find_last_of('\n') + 1;  // npos + 1 is 0.
  return {{*file_, number_ + ends, static_cast<int>(before.size() - line_begin) + 1}, message};
}

InputError Line::unexpected(std::string_view found, std::string_view expected,
                            const std::vector<std::string>& words) const {
  const std::string hint = did_you_mean(std::string(found), words);
  return error(found, "expected " + std::string(expected) + ", found " + quote(found) + "; " +
                          (hint.empty() ? "valid here: " + join(words) : hint));
}

LineReader::LineReader(std::string_view text, const std::string& name, std::string_view continuation)
    : name_(name), continuation_(continuation), rest_(text) {
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return;
  const std::string_view before = text.substr(0, nul);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.find_last_of('\n') + 1;  // npos + 1 is 0.
  throw InputError({name, static_cast<int>(line), static_cast<int>(nul - line_begin) + 1},
                   "found a NUL byte; expected a text file");
}

bool LineReader::next(Line& line) {
  while (!rest_.empty()) {
    const int number = number_ + 1;
    std::string_view text = take_line();
    if (text.empty()) continue;
    while (goes_on()) {
      // Both are views of the same text.
      const std::string_view more = take_line();
      text = std::string_view(text.begin(), more.end());
    }
    line = Line(&name_, number, text);
    return true;
  }
  return false;
}

/// Takes the next line and returns it without its comment and trailing blanks.
std::string_view LineReader::take_line() {
  const std::size_t end = rest_.find('\n');
  std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  if (text.size() > kMaxLineBytes) {
    throw InputError({name_, number_, 1}, "the line is longer than " + std::to_string(kMaxLineBytes) + " bytes");
  }
  text = text.substr(0, text.find('#'));
  text.remove_suffix(text.size() - (text.find_last_not_of(" \t\r") + 1));
  const std::size_t lone_return = text.find('\r');
  if (lone_return != std::string_view::npos) {
    throw Line(&name_, number_, text)
        .error(text.substr(lone_return), "found a carriage return within the line; lines end with LF or CR LF");
  }
  return text;
}

bool LineReader::goes_on() const {
  if (continuation_.empty()) return false;
  const std::string_view next = rest_.substr(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  return next.starts_with(continuation_) && next.substr(continuation_.size()).find_first_of(kWordEnds) == 0;
}

template <>
void require_family<Ipv4>(const Line& line, std::string_view word, std::string_view address, std::string_view what) {
  if (!parse_ipv6_address(address)) return;
  throw line.error(word, fmt::format("expected an IPv4 {}, found {}; IPv6 has a file of its own", what, quote(word)));
}

template <>
void require_family<Ipv6>(const Line& line, std::string_view word, std::string_view address, std::string_view what) {
  if (!parse_ipv4_address(address)) return;
  throw line.error(word, fmt::format("expected an IPv6 {}, found {}; IPv4 has a file of its own", what, quote(word)));
}

template <class Family>
typename Family::Address parse_neighbour_address(const Line& line, std::string_view word) {
  const auto address = Family::parse_address(word);
  if (!address) {
    throw line.error(word,
                     fmt::format("expected an {} address ({}), found {}", Family::kName, Family::kForm, quote(word)));
  }
  if (!address->is_unicast()) {
    throw line.error(word, quote(word) + " cannot be a neighbour's address: it is not unicast");
  }
  return *address;
}
template Ipv4Address parse_neighbour_address<Ipv4>(const Line&, std::string_view);
template Ipv6Address parse_neighbour_address<Ipv6>(const Line&, std::string_view);

std::string_view parse_port(const Line& line, std::string_view word, const std::vector<std::string>& ports) {
  if (!ports.empty() && std::find(ports.begin(), ports.end(), word) == ports.end()) {
    throw line.unexpected(word, "the name of a port", ports);
  }
  return word;
}

}  // namespace penumbra::control
