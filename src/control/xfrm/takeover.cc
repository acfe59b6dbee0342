// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/takeover.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "control/xfrm/algorithms.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/read_message.h"
#include "control/xfrm/write_message.h"

namespace penumbra::control::xfrm {
namespace {

constexpr const char* kSealed = "the kernel may have sealed packets with it";
constexpr const char* kUnknownLock = "its sequence numbers are at their end, and no high-water mark says who used them";

/// Returns the outbound number after which the kernel refuses packets.
std::uint64_t locked_number(const Sa& sa) {
  return (sa.settings.flags & XFRM_STATE_ESN) != 0 ? kUnlimited : std::uint64_t{0xFFFFFFFF};
}

bool is_locked(const Sa& sa) {
  return sa.replay.out == locked_number(sa);
}

/// True if the kernel may have sealed with the key of a counter mode.
bool has_sealed(const Sa& sa) {
  return needs_unique_iv(sa.settings.algorithms) && (sa.usage.packets != 0 || (sa.replay.out != 0 && !is_locked(sa)));
}

/// An SA that waits for its keys has no algorithm.
bool is_larval(const Attributes& attributes) {
  return !attributes.has(XFRMA_ALG_AEAD) && !attributes.has(XFRMA_ALG_CRYPT) && !attributes.has(XFRMA_ALG_AUTH) &&
         !attributes.has(XFRMA_ALG_AUTH_TRUNC) && !attributes.has(XFRMA_ALG_COMP);
}

bool have_same_key(const Sa& a, const Sa& b) {
  return fingerprint_of(a, KeySalt{}) == fingerprint_of(b, KeySalt{});
}

Buffer get_request(const SaId& id, const Mark& mark) {
  Buffer request;
  MessageWriter writer(request);
  writer.get_sa(id, mark);
  return request;
}

/// Returns true if a module is a part of the kernel, or if the kernel's list of such modules cannot be read.
bool is_builtin(const std::string& module) {
  utsname system{};
  uname(&system);
  std::ifstream list(std::string("/lib/modules/") + system.release + "/modules.builtin");
  if (!list) return true;
  for (std::string line; std::getline(list, line);) {
    if (line.ends_with("/" + module + ".ko")) return true;
  }
  return false;
}

}  // namespace

bool kernel_has_offload(std::uint16_t family) {
  const bool is_ipv6 = family == AF_INET6;
  static const bool kBuiltin[] = {is_builtin("esp4_offload"), is_builtin("esp6_offload")};
  // An SA that was made with a module keeps the module loaded. What cannot be looked up counts as loaded.
  std::error_code error;
  return kBuiltin[is_ipv6 ? 1 : 0] || !std::filesystem::exists("/sys/module", error) ||
         std::filesystem::exists(is_ipv6 ? "/sys/module/esp6_offload" : "/sys/module/esp4_offload", error) || error;
}

Takeover::Takeover(KernelLink& link, Manager& manager, HasOffload has_offload)
    : link_(link), manager_(manager), has_offload_(std::move(has_offload)) {}

bool Takeover::warn(const std::string& text) {
  constexpr std::size_t kMostWarned = 10'000;
  if (warned_.size() >= kMostWarned) warned_.clear();
  if (!warned_.insert(text).second) return false;
  log_warning("xfrm: " + text);
  return true;
}

void Takeover::refuse(const SaId& id, const Mark& mark, const std::string& why, Outcome& outcome) {
  manager_.drop(id, mark, outcome);
  const std::string to = to_string(id.destination, id.family);
  if (warn(fmt::format("the kernel's SA with spi {:#x} to {} is not used: {}", id.spi, to, why))) {
    ++manager_.kernel().refused_sas;
  }
}

std::optional<Sa> Takeover::read(std::span<const std::uint8_t> message, Outcome& outcome) {
  const auto payload = message.subspan(sizeof(nlmsghdr));
  if (payload.size() < sizeof(xfrm_usersa_info)) return std::nullopt;
  const auto raw = fixed_part<xfrm_usersa_info>(payload);
  Mark mark;
  try {
    const Attributes attributes(payload.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof raw), payload.size())));
    if (is_larval(attributes)) return std::nullopt;
    mark = read_whole_mark(attributes);
    return manager_.read_kernel_sa(raw, attributes);
  } catch (const Refused& refused) {
    refuse(to_id(raw), mark, refused.what(), outcome);
  } catch (const std::system_error& failure) {
    // No memory for keys can be locked.
    refuse(to_id(raw), mark, failure.what(), outcome);
  }
  return std::nullopt;
}

std::optional<Sa> Takeover::read_deleted(std::span<const std::uint8_t> message) {
  const auto payload = message.subspan(sizeof(nlmsghdr));
  try {
    const Attributes attributes(payload.subspan(std::min<std::size_t>(sizeof(xfrm_usersa_id), payload.size())));
    const auto raw = attributes.get<xfrm_usersa_info>(XFRMA_SA);
    if (!raw || is_larval(attributes)) return std::nullopt;
    return manager_.read_kernel_sa(*raw, attributes);
  } catch (const Refused&) {
    return std::nullopt;
  }
}

void Takeover::note_deleted(std::span<const std::uint8_t> message) {
  if (const auto sa = read_deleted(message); sa && has_sealed(*sa)) manager_.spend(*sa);
}

std::optional<Sa> Takeover::get(const SaId& id, const Mark& mark, Outcome& outcome) {
  std::optional<Sa> found;
  const int error = link_.ask(get_request(id, mark), [&](std::span<const std::uint8_t> message) {
    if (fixed_part<nlmsghdr>(message).nlmsg_type == XFRM_MSG_NEWSA) found = read(message, outcome);
  });
  if (error != 0) found.reset();
  // The kernel looks for the mark under the mask of each SA, and may find an SA with a different mark.
  if (found && (found->settings.id != id || found->settings.mark != mark)) found.reset();
  if (error == ESRCH) manager_.drop(id, mark, outcome);
  if (error == ENOBUFS || error == ENOMEM) is_incomplete_ = true;
  return found;
}

std::string Takeover::why_unsealed(const Sa& sa) const {
  const SaSettings& settings = sa.settings;
  const bool is_counter = needs_unique_iv(settings.algorithms);
  if ((settings.extra_flags & XFRM_SA_XFLAG_OSEQ_MAY_WRAP) != 0) {
    return "its sequence numbers may wrap (oseq-may-wrap), so that the kernel cannot be kept from sealing";
  }
  if ((settings.flags & XFRM_STATE_ESN) != 0 && has_offload_(settings.id.family)) {
    return "with its ESP offload, the kernel cannot be kept from sealing by an SA with extended sequence numbers; "
           "unload esp4_offload and esp6_offload, or negotiate without esn";
  }
  if (!manager_.why_marks_lost().empty()) return manager_.why_marks_lost();
  if (has_sealed(sa) || (is_counter && manager_.is_spent(sa))) return kSealed;
  if (is_locked(sa) && !manager_.has_mark(sa)) return kUnknownLock;
  return {};
}

void Takeover::give(Sa sa, Outcome& outcome) {
  const SaId id = sa.settings.id;
  const Mark mark = sa.settings.mark;
  const bool is_counter = needs_unique_iv(sa.settings.algorithms);
  // Each packet of the kernel had a number.
  if (is_locked(sa)) sa.replay.out = is_counter ? 0 : sa.usage.packets;
  if (is_counter && (sa.why_unsealed == kSealed || sa.why_unsealed == kUnknownLock)) manager_.spend(sa);
  if (!sa.why_unsealed.empty()) {
    warn(fmt::format("the kernel's SA with spi {:#x} to {} seals nothing: {}", id.spi,
                     to_string(id.destination, id.family), sa.why_unsealed));
  }
  try {
    manager_.adopt(std::move(sa), outcome);
  } catch (const Refused& refused) {
    refuse(id, mark, refused.what(), outcome);
  }
}

void Takeover::lock(const Sa& told, Outcome& outcome) {
  const SaId& id = told.settings.id;
  const Mark& mark = told.settings.mark;
  std::optional<Sa> before = get(id, mark, outcome);
  // If the SA was replaced, the kernel tells its successor by a notification.
  if (!before || !have_same_key(*before, told)) return;
  const auto give_up = [&](std::string why) {
    ++manager_.kernel().lock_failures;
    before->why_unsealed = std::move(why);
    give(std::move(*before), outcome);
  };
  if (is_locked(*before)) return give_up(kUnknownLock);
  const std::uint64_t sent = before->replay.out;
  before->replay.out = locked_number(*before);
  Buffer request;
  MessageWriter(request).set_replay(*before);
  const int error = link_.ask(request, [](std::span<const std::uint8_t>) {});
  before->replay.out = sent;
  if (error == ESRCH) return;
  if (error != 0) {
    return give_up(std::string("the kernel does not let its sequence numbers be set: ") + std::strerror(error));
  }
  std::optional<Sa> after = get(id, mark, outcome);
  if (!after || !have_same_key(*after, told)) return;
  if (!is_locked(*after)) return give_up("the kernel did not keep the end of its sequence numbers");
  ++manager_.kernel().locks;
  const bool is_counter = needs_unique_iv(after->settings.algorithms);
  if (is_counter && (sent != 0 || after->usage.packets != 0)) after->why_unsealed = kSealed;
  after->replay.out = sent + (after->usage.packets - before->usage.packets);
  // Other modes continue the kernel's numbers, also in a later process. One save_marks() is for all SAs.
  if (!is_counter && after->replay.out != 0) manager_.raise_mark(*after);
  give(std::move(*after), outcome);
}

std::string Takeover::store_marks(const std::vector<const Sa*>& sas) {
  try {
    manager_.add_marks(sas);
    return {};
  } catch (const std::system_error& failure) {
    return std::string("its high-water mark cannot be stored: ") + failure.what();
  }
}

void Takeover::take(std::vector<Sa> told, Outcome& outcome) {
  std::vector<const Sa*> unlocked;
  for (Sa& sa : told) {
    sa.why_unsealed = why_unsealed(sa);
    if (sa.why_unsealed.empty() && !is_locked(sa)) unlocked.push_back(&sa);
  }
  const std::string problem = store_marks(unlocked);
  for (Sa& sa : told) {
    if (sa.why_unsealed.empty() && !is_locked(sa)) {
      if (problem.empty()) {
        lock(sa, outcome);
        continue;
      }
      sa.why_unsealed = problem;
    }
    give(std::move(sa), outcome);
  }
}

void Takeover::take_changed(std::vector<std::pair<SaId, Mark>> ids, Outcome& outcome) {
  std::vector<Sa> told;
  std::set<std::pair<SaId, Mark>> seen;
  for (const auto& [id, mark] : ids) {
    if (!seen.insert({id, mark}).second) continue;
    if (auto sa = get(id, mark, outcome)) told.push_back(std::move(*sa));
  }
  take(std::move(told), outcome);
}

void Takeover::take_dumped(const std::vector<Buffer>& messages, Outcome& outcome) {
  std::vector<Sa> told;
  for (const Buffer& message : messages) {
    if (auto sa = read(message, outcome)) told.push_back(std::move(*sa));
  }
  take(std::move(told), outcome);
}

}  // namespace penumbra::control::xfrm
