// SPDX-License-Identifier: Apache-2.0
//
// Look-ups on a GPU, and their bars.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/bars.h"
#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

struct Task {
  std::string name, description;
  std::unique_ptr<LookupWork> work;
  double lines;                ///< Cache lines that a look-up reads in the table.
  const Bar* by_cuda;          ///< Bar end to end, relative to the bus.
  const Bar* by_resident;      ///< Bar end to end, relative to the bus; may be null.
  const Bar* by_the_shader;    ///< Bar on data that the GPU has, relative to random reads.
  bool is_the_papers = false;  ///< True for PacketShader's figure 2: IPv6 by prefix lengths.
};

/// Makes IPv4 addresses, uniform over all.
Task ipv4_task(const Options& options);
/// Makes 235,000 IPv6 prefixes as a trie and by lengths, with addresses uniform over them, and 4 million flows.
std::vector<Task> more_tasks(const Options& options);

}  // namespace penumbra::bench::gpu
