// SPDX-License-Identifier: Apache-2.0
#include "rivals/rte_hash.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include <stdexcept>

namespace penumbra::bench {

RteHash::RteHash(HugeHeap& heap, std::size_t keys, std::uint32_t key_bytes) {
  const std::string name = fmt::format("hash{}", static_cast<const void*>(this));
  rte_hash_parameters parameters{};
  parameters.name = name.c_str();
  parameters.entries = static_cast<std::uint32_t>(keys);
  parameters.key_len = key_bytes;
  parameters.hash_func = rte_hash_crc;
  parameters.socket_id = heap.socket();
  table_ = rte_hash_create(&parameters);
  if (table_ == nullptr) throw std::runtime_error(fmt::format("rte_hash: create: {}", rte_strerror(rte_errno)));
}

RteHash::~RteHash() {
  rte_hash_free(table_);
}

void RteHash::insert(const void* key, std::uint64_t value) {
  const int result = rte_hash_add_key_data(table_, key, reinterpret_cast<void*>(value));
  if (result != 0) throw std::runtime_error(fmt::format("rte_hash_add_key_data: {}", rte_strerror(-result)));
}

std::uint32_t RteHash::hash(const void* key) const {
  return rte_hash_hash(table_, key);
}

void RteHash::find(const void* const* keys, const std::uint32_t* hashes, std::size_t count,
                   std::uint64_t* values) const {
  std::uint64_t hits = 0;
  // The function takes non-const keys and hashes, but does not change them.
  rte_hash_lookup_with_hash_bulk_data(table_, const_cast<const void**>(keys), const_cast<std::uint32_t*>(hashes),
                                      static_cast<std::uint32_t>(count), &hits, reinterpret_cast<void**>(values));
  for (std::size_t i = 0; i < count; ++i) {
    if ((hits >> i & 1) == 0) values[i] = 0;
  }
}

}  // namespace penumbra::bench
