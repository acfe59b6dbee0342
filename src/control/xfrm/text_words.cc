// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/text_words.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "penumbra/errors.h"

namespace penumbra::control::xfrm {
namespace {

/// Removes what `ip` prints after a word: a comma, or a number's other form in parentheses ("5(0x00000005)").
std::string_view bare(std::string_view word) {
  if (word.ends_with(',')) word.remove_suffix(1);
  const bool is_number = !word.empty() && word.front() >= '0' && word.front() <= '9';
  const std::size_t remark = is_number ? word.find('(') : std::string_view::npos;
  const bool is_unit = word.ends_with("(bytes)") || word.ends_with("(packets)");
  return is_unit ? word : word.substr(0, remark);
}

std::string_view unquoted(std::string_view word) {
  const bool has_quotes =
      word.size() >= 2 && word.front() == word.back() && (word.front() == '"' || word.front() == '\'');
  return has_quotes ? word.substr(1, word.size() - 2) : word;
}

/// Returns true for lines of statistics that `ip -s` prints. They do not describe an SA or a policy.
bool is_statistics(std::string_view first, std::string_view rest) {
  if (first == "lifetime" || first == "stats:" || first == "lastused") return true;
  if (first.find("(bytes)") != std::string_view::npos) return true;
  if (first == "add" && rest.find(" use ") != std::string_view::npos) return true;
  return first == "replay-window" && rest.find(" failed ") != std::string_view::npos;
}

int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = static_cast<char>(letter | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Returns true for a long hexadecimal number, also if its prefix was forgotten.
bool may_be_key(std::string_view word) {
  constexpr std::size_t kLongestNumber = 10;  // 4294967295, or 0xFFFFFFFF
  if (word.size() <= kLongestNumber) return false;
  if (word.starts_with("0x") || word.starts_with("0X")) return true;
  return std::ranges::all_of(word, [](char letter) { return digit_of(letter) >= 0; });
}

/// Returns the word in quotes, or what it is if it may be a key.
std::string shown(std::string_view word) {
  return may_be_key(word) ? "a hexadecimal number" : quote(word);
}

std::optional<std::uint64_t> to_number(std::string_view word) {
  const bool is_hex = word.starts_with("0x") || word.starts_with("0X");
  if (is_hex) word.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number, is_hex ? 16 : 10);
  if (failure != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view Record::take(std::string_view expected) {
  if (at_end())
    throw words_.back().line->error(words_.back().text, "expected " + std::string(expected) + " after this");
  return words_[at_++].text;
}

bool Record::take_if(std::string_view word) {
  if (at_end() || peek() != word) return false;
  ++at_;
  return true;
}

InputError Record::error(const std::string& message) const {
  const Word& word = words_[at_ == 0 ? 0 : at_ - 1];
  return word.line->error(word.text, message);
}

InputError Record::unexpected(std::string_view expected, const std::vector<std::string>& words) const {
  const Word& word = words_[at_ == 0 ? 0 : at_ - 1];
  if (may_be_key(word.text)) return error("expected " + std::string(expected) + ", found a hexadecimal number");
  return word.line->unexpected(word.text, expected, words);
}

std::uint64_t Record::number(std::string_view what, std::uint64_t most) {
  const std::string_view word = take(what);
  const auto number = to_number(word);
  if (number && *number <= most) return *number;
  throw error("expected " + std::string(what) + " from 0 to " + std::to_string(most) + ", found " + shown(word));
}

std::uint32_t Record::hexadecimal() {
  const std::string_view word = take("a hexadecimal number");
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number, 16);
  if (failure != std::errc{} || end != word.data() + word.size())
    throw error("expected a hexadecimal number of 8 digits");
  return number;
}

Address Record::address(std::uint16_t& family) {
  const std::string_view word = take("an address");
  const std::uint16_t found = word.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
  const auto address = parse_address(word, found);
  if (!address) throw error("expected an IPv4 or IPv6 address, found " + shown(word));
  if (family == 0) family = found;
  if (family != found) throw error(quote(word) + " is of another address family than the address before it");
  return *address;
}

Address Record::prefix(std::uint16_t& family, std::uint8_t& length) {
  if (take_if("any") || take_if("default") || take_if("all")) return {};
  const std::string_view word = take("ADDRESS/LENGTH");
  const std::size_t slash = word.find('/');
  const std::string_view text = word.substr(0, slash);
  const std::uint16_t found = text.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
  const auto address = parse_address(text, found);
  const auto bits = slash == std::string_view::npos ? address_bits(found) : to_number(word.substr(slash + 1));
  if (!address || !bits || *bits > address_bits(found)) throw error("expected ADDRESS/LENGTH, found " + shown(word));
  if (family != 0 && family != found)
    throw error(quote(word) + " is of another address family than the prefix before it");
  family = found;
  length = static_cast<std::uint8_t>(*bits);
  return *address;
}

std::string_view Record::algorithm() {
  const std::string_view word = take("the name of an algorithm");
  if (may_be_key(word)) throw error("expected the name of an algorithm, found " + shown(word));
  return word;
}

std::uint32_t Record::key(std::span<std::uint8_t> key) {
  if (take_if("\"\"") || take_if("''") || take_if("0x")) return 0;
  if (take_if("<<Keys")) throw error("the key is hidden; print the states as root and without 'nokeys'");
  if (!peek().starts_with("0x")) return 0;
  const std::string_view digits = take("a key").substr(2);
  if (digits.size() % 2 != 0 || digits.size() / 2 > key.size()) {
    throw error("expected a key of at most " + std::to_string(key.size()) + " whole bytes in hexadecimal");
  }
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit_of(digits[i]), low = digit_of(digits[i + 1]);
    if (high < 0 || low < 0) throw error("expected a key in hexadecimal; it contains another letter");
    key[i / 2] = static_cast<std::uint8_t>(high << 4 | low);
  }
  if (peek().starts_with('(')) {  // `ip -s` prints "(160 bits)".
    take("bits");
    take("bits");
  }
  return static_cast<std::uint32_t>(digits.size() * 4);
}

Mark Record::mark() {
  const std::string_view word = take("VALUE/MASK");
  const std::size_t slash = word.find('/');
  const auto value = to_number(word.substr(0, slash));
  const auto mask =
      slash == std::string_view::npos ? std::optional<std::uint64_t>{0xFFFFFFFF} : to_number(word.substr(slash + 1));
  if (!value || !mask || *value > 0xFFFFFFFF || *mask > 0xFFFFFFFF) {
    throw error("expected VALUE or VALUE/MASK, found " + shown(word));
  }
  Mark mark{static_cast<std::uint32_t>(*value), static_cast<std::uint32_t>(*mask)};
  if (take_if("mask")) mark.mask = static_cast<std::uint32_t>(number("a mask"));
  return mark;
}

void OnceWords::add(const Record& record, std::string_view word) {
  if (!words_.insert(word).second) throw record.error(quote(word) + " stands twice here; leave one out");
}

bool RecordReader::fetch() {
  while (!has_pending_) {
    if (!reader_.next(pending_)) return false;
    Line ahead = pending_;
    const std::string_view first = ahead.take();
    has_pending_ = !is_statistics(first, pending_.rest());
  }
  return true;
}

void RecordReader::append(Record& record) {
  record.lines_.push_back(pending_);
  const Line* const line = &record.lines_.back();
  for (std::string_view word = pending_.take(); !word.empty(); word = pending_.take()) {
    if (word != "\\") record.words_.push_back({unquoted(word).empty() ? word : bare(unquoted(word)), line});
  }
  has_pending_ = false;
}

bool RecordReader::next(Record& record) {
  record = {};
  bool continues = true;  // The line before ended with a backslash, or there was none.
  while (fetch()) {
    constexpr std::array<std::string_view, 7> kFirst{"src", "dst", "ip", "state", "policy", "add", "update"};
    const bool begins = std::ranges::find(kFirst, pending_.peek()) != kFirst.end();
    if (!continues && begins) break;
    continues = pending_.rest().ends_with('\\');
    append(record);
  }
  if (record.empty()) return false;
  record.take_if("ip");
  record.take_if("xfrm");
  record.take_if(object_);
  if (!record.take_if("add")) record.take_if("update");
  return true;
}

}  // namespace penumbra::control::xfrm
