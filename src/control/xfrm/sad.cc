// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/sad.h"

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "control/xfrm/refused.h"

namespace penumbra::control::xfrm {
namespace {

bool matches(std::uint32_t mark, const Mark& wanted) {
  return (mark & wanted.mask) == wanted.value;
}

constexpr std::uint8_t kAnyProtocol = 255;

bool is_of_protocol(const Sa& sa, std::uint8_t protocol) {
  return protocol == kAnyProtocol || protocol == 0 || sa.settings.id.protocol == protocol;
}

/// Returns true if a larval SA without SPI serves a request.
bool fits(const SaSettings& larval, const SaSettings& wanted) {
  const bool same_ends = larval.id.destination == wanted.id.destination && larval.source == wanted.source &&
                         larval.id.family == wanted.id.family && larval.id.protocol == wanted.id.protocol;
  return same_ends && larval.request == wanted.request && larval.mode == wanted.mode && larval.mark == wanted.mark &&
         larval.interface_id == wanted.interface_id;
}

}  // namespace

std::size_t Sad::Hash::operator()(const SaId& id) const {
  std::uint64_t parts[2];
  std::memcpy(parts, id.destination.bytes.data(), sizeof parts);
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  const std::uint64_t mixed = ((parts[0] * kOdd) ^ parts[1]) * kOdd + id.spi + (std::uint64_t{id.family} << 32U);
  return std::hash<std::uint64_t>{}(mixed * kOdd ^ id.protocol);
}

Sa* Sad::find(const SaId& id, std::uint32_t mark) {
  // The newest of those that match the mark is found.
  Sa* found = nullptr;
  const auto [first, end] = by_id_.equal_range(id);
  for (auto at = first; at != end; ++at) {
    Sa& sa = by_number_.at(at->second);
    if (matches(mark, sa.settings.mark) && (found == nullptr || found->number < sa.number)) found = &sa;
  }
  return found;
}

Sa* Sad::find_exact(const SaId& id, const Mark& mark) {
  const auto [first, end] = by_id_.equal_range(id);
  for (auto at = first; at != end; ++at) {
    if (Sa& sa = by_number_.at(at->second); sa.settings.mark == mark) return &sa;
  }
  return nullptr;
}

Sa* Sad::find(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : &found->second;
}

Sa& Sad::insert(Sa sa) {
  sa.number = ++last_number_;
  const std::uint64_t number = sa.number;
  Sa& inserted = by_number_.emplace(number, std::move(sa)).first->second;
  if (inserted.settings.id.spi == 0) {
    without_spi_.insert(number);
  } else {
    by_id_.emplace(inserted.settings.id, number);
  }
  return inserted;
}

void Sad::erase(std::uint64_t number) {
  const auto at = by_number_.find(number);
  const auto [first, end] = by_id_.equal_range(at->second.settings.id);
  for (auto entry = first; entry != end; ++entry) {
    if (entry->second != number) continue;
    by_id_.erase(entry);
    break;
  }
  without_spi_.erase(number);
  by_number_.erase(at);
}

Sa* Sad::find_larval(const SaSettings& wanted) {
  for (const std::uint64_t number : without_spi_) {
    Sa& larval = by_number_.at(number);
    const bool answers = wanted.sequence != 0 && larval.settings.sequence == wanted.sequence &&
                         larval.settings.id.destination == wanted.id.destination;
    if (answers || fits(larval.settings, wanted)) return &larval;
  }
  return nullptr;
}

Sa& Sad::add(Sa sa) {
  if (find(sa.settings.id, sa.settings.mark.value & sa.settings.mark.mask) != nullptr) {
    throw Refused(EEXIST, "there is an SA of this destination, SPI and mark");
  }
  if (const Sa* const larval = find_larval(sa.settings); larval != nullptr) erase(larval->number);
  return insert(std::move(sa));
}

Sa& Sad::update(Sa sa) {
  Sa* const old = find(sa.settings.id, sa.settings.mark.value & sa.settings.mark.mask);
  if (old == nullptr) throw Refused(ESRCH, "there is no SA of this destination, SPI and mark");
  if (old->larval) {
    erase(old->number);
    return insert(std::move(sa));
  }
  const auto& was = old->settings.encapsulation;
  const auto& now = sa.settings.encapsulation;
  require(was.has_value() == now.has_value() && (!was || was->type == now->type), EINVAL,
          "an update cannot begin, end or change the kind of an encapsulation");
  old->settings.encapsulation = now;
  if (sa.settings.care_of && old->settings.care_of) old->settings.care_of = sa.settings.care_of;
  old->settings.limits = sa.settings.limits;
  if (sa.settings.output_mark != Mark{}) old->settings.output_mark = sa.settings.output_mark;
  if (sa.settings.interface_id != 0) old->settings.interface_id = sa.settings.interface_id;
  old->dying = false;
  return *old;
}

std::uint32_t Sad::free_spi(const SaSettings& wanted, std::uint32_t least, std::uint32_t most) {
  SaId id = wanted.id;
  const auto is_free = [&](std::uint32_t spi) {
    id.spi = spi;
    return spi != 0 && find(id, wanted.mark.value & wanted.mark.mask) == nullptr;
  };
  std::random_device random;
  std::uniform_int_distribution<std::uint32_t> any(least, most);
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    if (const std::uint32_t spi = any(random); is_free(spi)) return spi;
  }
  constexpr std::uint64_t kMostSteps = 1 << 16;
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{least} + kMostSteps, std::uint64_t{most} + 1);
  for (std::uint64_t spi = least; spi < end; ++spi) {
    if (is_free(static_cast<std::uint32_t>(spi))) return static_cast<std::uint32_t>(spi);
  }
  throw Refused(ENOENT, "no SPI of the range is free");
}

Sa& Sad::allocate_spi(const Sa& wanted, std::uint32_t least, std::uint32_t most) {
  const std::uint32_t spi = free_spi(wanted.settings, least, most);
  Sa larval;
  larval.settings = wanted.settings;
  larval.usage = wanted.usage;
  larval.larval = true;
  larval.sender = wanted.sender;
  if (const Sa* const waiting = find_larval(wanted.settings); waiting != nullptr) {
    larval.settings = waiting->settings;
    larval.usage = waiting->usage;
    erase(waiting->number);
  }
  larval.settings.id.spi = spi;
  return insert(std::move(larval));
}

Sa* Sad::acquire(Sa wanted) {
  wanted.larval = true;
  if (find_larval(wanted.settings) != nullptr) return nullptr;
  return &insert(std::move(wanted));
}

Sa Sad::remove(const Sa& sa) {
  const std::uint64_t number = sa.number;
  Sa removed = std::move(by_number_.at(number));
  by_number_.at(number).settings.id = removed.settings.id;
  erase(number);
  return removed;
}

Sa& Sad::move(const Sa& sa, SaSettings settings) {
  Sa moved = remove(sa);
  moved.settings = std::move(settings);
  return insert(std::move(moved));
}

std::size_t Sad::flush(std::uint8_t protocol) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, sa] : by_number_) {
    if (is_of_protocol(sa, protocol)) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) erase(number);
  return numbers.size();
}

}  // namespace penumbra::control::xfrm
