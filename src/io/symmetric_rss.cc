// SPDX-License-Identifier: Apache-2.0
#include "io/symmetric_rss.h"

#include <rte_ethdev.h>

namespace penumbra::io {
namespace {

constexpr std::uint8_t kFirst = 0x6D, kSecond = 0x5A;
constexpr std::size_t kUsualBytes = 40;

bool uses(std::uint16_t port, std::vector<std::uint8_t> key) {
  std::vector<std::uint8_t> read(key.size());
  rte_eth_rss_conf settings{};
  settings.rss_key = read.data();
  settings.rss_key_len = static_cast<std::uint8_t>(read.size());
  return rte_eth_dev_rss_hash_conf_get(port, &settings) == 0 && read == key;
}

}  // namespace

std::vector<std::uint8_t> symmetric_key(const rte_eth_dev_info& info) {
  std::vector<std::uint8_t> key(info.hash_key_size > 0 ? info.hash_key_size : kUsualBytes);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? kFirst : kSecond;
  return key;
}

bool use_symmetric_key(std::uint16_t port, const rte_eth_dev_info& info) {
  std::vector<std::uint8_t> key = symmetric_key(info);
  if (uses(port, key)) return true;
  rte_eth_rss_conf settings{};
  // A driver may set the types too.
  if (rte_eth_dev_rss_hash_conf_get(port, &settings) != 0) return false;
  settings.rss_key = key.data();
  settings.rss_key_len = static_cast<std::uint8_t>(key.size());
  return rte_eth_dev_rss_hash_update(port, &settings) == 0 && uses(port, key);
}

}  // namespace penumbra::io
