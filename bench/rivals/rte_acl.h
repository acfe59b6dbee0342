// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penumbra/rule.h"
#include "rivals/huge_heap.h"

struct rte_acl_ctx;

namespace penumbra::bench {

/// DPDK's rte_acl over 5-tuples of IPv4, one category; the earlier rule wins.
class RteAcl {
 public:
  /// A classification algorithm that runs on this machine.
  struct Way {
    std::string name;
    int algorithm = 0;
  };

  /// Builds the table. Throws std::invalid_argument for masks that are no prefixes, and std::runtime_error if rte_acl
  /// refuses.
  RteAcl(HugeHeap& heap, std::span<const Rule> rules);
  RteAcl(const RteAcl&) = delete;
  RteAcl& operator=(const RteAcl&) = delete;
  ~RteAcl();

  static std::vector<Way> ways();
  /// Converts keys to the input of classify(): headers in network byte order.
  void prepare(std::span<const RuleWords> keys);
  /// Writes the rules' places from 1, or 0, for `count` of the keys from `at` on.
  void classify(const Way& way, std::size_t at, std::size_t count, std::uint32_t* places) const;

 private:
  struct Header {
    std::uint8_t protocol = 0;
    std::uint32_t source = 0, destination = 0;
    std::uint16_t source_port = 0, destination_port = 0;
  };

  rte_acl_ctx* context_;
  std::vector<Header> headers_;
  std::vector<const std::uint8_t*> pointers_;
};

}  // namespace penumbra::bench
