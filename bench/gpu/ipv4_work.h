// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/lookup_work.h"
#include "inputs.h"
#include "tables/dir24_8/dir24_8.h"

namespace penumbra::bench::gpu {

/// A filled IPv4 table, addresses that are uniform over all, and the oracle's answers.
class Ipv4Work final : public LookupWorkOf<std::uint32_t, std::uint16_t> {
 public:
  static constexpr std::size_t kAddresses = std::size_t{1} << 22;

  explicit Ipv4Work(const Options& options, std::size_t count = kAddresses);

  Table& penumbra_table() override { return table_.table(); }

  InputTable input;

 private:
  NoReaders no_readers_;
  Dir24_8 table_{no_readers_};
};

}  // namespace penumbra::bench::gpu
