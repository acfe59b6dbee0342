// SPDX-License-Identifier: Apache-2.0
#include "rivals/rte_acl.h"

#include <fmt/format.h>
#include <rte_acl.h>
#include <rte_byteorder.h>
#include <rte_errno.h>

#include <bit>
#include <stdexcept>

#include "rivals/vector_width.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kFields = 5;
RTE_ACL_RULE_DEF(AclRule, kFields);

void require_acl(int result, const char* step) {
  if (result != 0) throw std::runtime_error(fmt::format("rte_acl: {}: {}", step, rte_strerror(-result)));
}

/// Returns the prefix length of an address mask. Throws std::invalid_argument if the mask is no prefix.
std::uint32_t length_of(std::uint32_t mask) {
  if ((~mask & (~mask + 1)) != 0) throw std::invalid_argument("rte_acl: a mask of an address that is no prefix");
  return static_cast<std::uint32_t>(std::popcount(mask));
}

PortRange range_of(const PortRange& range, std::uint64_t value, std::uint64_t mask, unsigned shift) {
  const auto open = static_cast<std::uint16_t>(~(mask >> shift));
  if (open == 0xFFFF) return range;
  if ((open & (open + 1)) != 0 || !range.is_all()) throw std::invalid_argument("rte_acl: ports that are no range");
  const auto first = static_cast<std::uint16_t>(value >> shift);
  return {first, static_cast<std::uint16_t>(first | open)};
}

AclRule acl_rule(const RuleMatch& match, std::size_t place) {
  AclRule rule{};
  rule.data.category_mask = 1;
  rule.data.priority = static_cast<std::int32_t>(RTE_ACL_MAX_PRIORITY - place);
  rule.data.userdata = static_cast<std::uint32_t>(place + 1);
  rule.field[0].value.u8 = static_cast<std::uint8_t>(match.value[1] >> kProtocolShift);
  rule.field[0].mask_range.u8 = static_cast<std::uint8_t>(match.mask[1] >> kProtocolShift);
  rule.field[1].value.u32 = static_cast<std::uint32_t>(match.value[0] >> 32);
  rule.field[1].mask_range.u32 = length_of(static_cast<std::uint32_t>(match.mask[0] >> 32));
  rule.field[2].value.u32 = static_cast<std::uint32_t>(match.value[0]);
  rule.field[2].mask_range.u32 = length_of(static_cast<std::uint32_t>(match.mask[0]));
  const PortRange source = range_of(match.source_ports, match.value[1], match.mask[1], kSourcePortShift);
  const PortRange destination = range_of(match.destination_ports, match.value[1], match.mask[1], kDestinationPortShift);
  rule.field[3].value.u16 = source.first;
  rule.field[3].mask_range.u16 = source.last;
  rule.field[4].value.u16 = destination.first;
  rule.field[4].mask_range.u16 = destination.last;
  return rule;
}

}  // namespace

RteAcl::RteAcl(HugeHeap& heap, std::span<const Rule> rules) {
  allow_wide_vectors();
  const std::string name = fmt::format("acl{}", static_cast<const void*>(this));
  rte_acl_param parameters{};
  parameters.name = name.c_str();
  parameters.socket_id = heap.socket();
  parameters.rule_size = RTE_ACL_RULE_SZ(kFields);
  parameters.max_rule_num = static_cast<std::uint32_t>(rules.size());
  context_ = rte_acl_create(&parameters);
  require_acl(context_ == nullptr ? -rte_errno : 0, "create");
  try {
    for (std::size_t place = 0; place < rules.size(); ++place) {
      const AclRule rule = acl_rule(rules[place].match, place);
      require_acl(rte_acl_add_rules(context_, reinterpret_cast<const rte_acl_rule*>(&rule), 1), "add");
    }
    rte_acl_config config{};
    config.num_categories = 1;
    config.num_fields = kFields;
    const auto define = [&config](std::uint8_t field, std::uint8_t type, std::size_t size, std::uint8_t input,
                                  std::size_t offset) {
      config.defs[field] = {type, static_cast<std::uint8_t>(size), field, input, static_cast<std::uint32_t>(offset)};
    };
    define(0, RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, offsetof(Header, protocol));
    define(1, RTE_ACL_FIELD_TYPE_MASK, 4, 1, offsetof(Header, source));
    define(2, RTE_ACL_FIELD_TYPE_MASK, 4, 2, offsetof(Header, destination));
    define(3, RTE_ACL_FIELD_TYPE_RANGE, 2, 3, offsetof(Header, source_port));
    define(4, RTE_ACL_FIELD_TYPE_RANGE, 2, 3, offsetof(Header, destination_port));
    require_acl(rte_acl_build(context_, &config), "build");
  } catch (...) {
    rte_acl_free(context_);
    throw;
  }
}

RteAcl::~RteAcl() {
  rte_acl_free(context_);
}

std::vector<RteAcl::Way> RteAcl::ways() {
  std::vector<Way> ways{{"scalar", RTE_ACL_CLASSIFY_SCALAR}};
  if (__builtin_cpu_supports("avx2")) ways.push_back({"avx2", RTE_ACL_CLASSIFY_AVX2});
  if (__builtin_cpu_supports("x86-64-v4")) {
    ways.push_back({"avx512x16", RTE_ACL_CLASSIFY_AVX512X16});
    ways.push_back({"avx512x32", RTE_ACL_CLASSIFY_AVX512X32});
  }
  return ways;
}

void RteAcl::prepare(std::span<const RuleWords> keys) {
  headers_.clear();
  pointers_.clear();
  headers_.reserve(keys.size());
  for (const RuleWords& key : keys) {
    headers_.push_back({.protocol = static_cast<std::uint8_t>(key[1] >> kProtocolShift),
                        .source = rte_cpu_to_be_32(static_cast<std::uint32_t>(key[0] >> 32)),
                        .destination = rte_cpu_to_be_32(static_cast<std::uint32_t>(key[0])),
                        .source_port = rte_cpu_to_be_16(source_port_of(key[1])),
                        .destination_port = rte_cpu_to_be_16(destination_port_of(key[1]))});
    pointers_.push_back(reinterpret_cast<const std::uint8_t*>(&headers_.back()));
  }
}

void RteAcl::classify(const Way& way, std::size_t at, std::size_t count, std::uint32_t* places) const {
  auto* data = const_cast<const std::uint8_t**>(pointers_.data() + at);
  const int result = rte_acl_classify_alg(context_, data, places, static_cast<std::uint32_t>(count), 1,
                                          static_cast<enum rte_acl_classify_alg>(way.algorithm));
  require_acl(result, "classify");
}

}  // namespace penumbra::bench
