// SPDX-License-Identifier: Apache-2.0
//
// A follower of a simulated kernel, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "control/xfrm/kernel_follower.h"
#include "control/xfrm/kernel_testing.h"
#include "control/xfrm/manager_testing.h"

namespace penumbra::control::xfrm::testing {

inline constexpr std::uint32_t kEnd = 0xFFFFFFFF;

inline Message gcm(const xfrm_usersa_info& raw) {
  Message message(XFRM_MSG_NEWSA, raw);
  // Each SA has its own key.
  Bytes content(sizeof(xfrm_algo_aead) + 20, static_cast<std::uint8_t>((ntohl(raw.id.spi) >> 8U) + 1));
  xfrm_algo_aead algorithm{};
  std::strcpy(algorithm.alg_name, "rfc4106(gcm(aes))");
  algorithm.alg_key_len = 160;
  algorithm.alg_icv_len = 128;
  std::memcpy(content.data(), &algorithm, sizeof algorithm);
  return message.attribute_bytes(XFRMA_ALG_AEAD, content);
}

inline Message cbc(const xfrm_usersa_info& raw) {
  Message message(XFRM_MSG_NEWSA, raw);
  message.algorithm<xfrm_algo>(XFRMA_ALG_CRYPT, "cbc(aes)", 16);
  return message.algorithm<xfrm_algo_auth>(XFRMA_ALG_AUTH_TRUNC, "hmac(sha256)", 32, 128);
}

inline Message kernel_policy(std::uint32_t request, std::uint32_t index = 9) {
  xfrm_userpolicy_info raw = out_policy();
  raw.index = index;
  Message message = policy_for(request);
  message.set_fixed(raw);
  return message;
}

/// Returns the message of the kernel that an SA was deleted.
inline Message deleted(const xfrm_usersa_info& raw, Message (*describe)(const xfrm_usersa_info&)) {
  const Bytes told = describe(raw).bytes();
  Message message(XFRM_MSG_DELSA, id_of(raw));
  message.attribute(XFRMA_SA, raw);
  const auto attribute = std::span(told).subspan(NLMSG_ALIGN(sizeof(nlmsghdr) + sizeof raw));
  nlattr head{};
  std::memcpy(&head, attribute.data(), sizeof head);
  return message.attribute_bytes(head.nla_type, attribute.subspan(sizeof head, head.nla_len - sizeof head));
}

class KernelFollowerTest : public ManagerTest {
 protected:
  /// Tells the kernel's policies to the manager, and returns the one that it has, or null.
  const Policy* take_policy(const Message& policy) {
    kernel_.tell(policy);
    receive();
    const auto& all = manager_.spd().all();
    return all.size() == 1 ? &all.begin()->second : nullptr;
  }
  static std::vector<std::uint16_t> types_to_data_plane(const Outcome& outcome) {
    std::vector<std::uint16_t> types;
    for (const Buffer* const each : to_group(outcome, PENUMBRA_XFRM_GROUP_DATA_PLANE)) types.push_back(type_of(*each));
    return types;
  }
  Outcome synchronize() {
    Outcome outcome;
    follower_.synchronize(outcome);
    return outcome;
  }
  Outcome receive() {
    Outcome outcome;
    follower_.receive(outcome);
    return outcome;
  }
  /// Returns the first number of a block; 0 if there is none.
  std::uint64_t first_number(std::uint32_t spi) { return first_number(spi, manager_); }
  std::uint64_t first_number(std::uint32_t spi, Manager& manager) {
    Sender owner{.user = kOwner};
    outcome_ = {};
    manager.handle(owner, lend(spi, 10).bytes(), outcome_);
    if (outcome_.replies.empty() || type_of(outcome_.replies[0]) != PENUMBRA_XFRM_LEND) return 0;
    return fixed_of<penumbra_xfrm_lend>(outcome_.replies[0]).first;
  }
  /// A process that follows the same kernel after the first one has ended.
  struct LaterProcess {
    LaterProcess(KernelFollowerTest& test, const std::filesystem::path& its_marks, const std::filesystem::path& witness)
        : marks(its_marks, witness),
          manager(
              marks, [&test] { return test.now_; }, kOwner),
          follower(test.kernel_, manager, [](std::uint16_t) { return false; }) {
      Outcome outcome;
      follower.synchronize(outcome);
    }
    HighWaterMarks marks;
    Manager manager;
    KernelFollower follower;
  };

  const Sa* find(std::uint32_t spi) { return manager_.find_sa(to_id(esp_sa(spi)), {}); }
  std::string why(std::uint32_t spi) { return find(spi)->why_unsealed; }
  std::size_t known() const { return manager_.sad().all().size(); }
  const KernelCounters& counters() { return manager_.kernel(); }

  FakeKernel kernel_;
  bool has_offload_ = false;
  KernelFollower follower_{kernel_, manager_, [this](std::uint16_t /*family*/) { return has_offload_; }};
  Outcome outcome_;  ///< Of the last first_number().
};

}  // namespace penumbra::control::xfrm::testing
