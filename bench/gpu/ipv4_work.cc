// SPDX-License-Identifier: Apache-2.0
#include "gpu/ipv4_work.h"

#include <algorithm>

namespace penumbra::bench::gpu {

Ipv4Work::Ipv4Work(const Options& options, std::size_t count) : LookupWorkOf(count), input(input_table(options)) {
  const InputAddresses drawn = uniform_addresses(count, options.seed);
  std::ranges::copy(drawn.addresses, own_keys().begin());
  std::ranges::copy(next_hops<Ipv4>(Oracle(input.entries), drawn.addresses), right.begin());
  table_.load(input.entries);
}

}  // namespace penumbra::bench::gpu
