// SPDX-License-Identifier: Apache-2.0
//
// What is looked up on a GPU, and what is expected of that.
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
  double lines;                ///< that a look-up reads in the table
  const Bar* by_cuda;          ///< end to end, beside the bus
  const Bar* by_resident;      ///< likewise; may be null
  const Bar* by_the_shader;    ///< on data already there, beside random reads
  bool is_the_papers = false;  ///< PacketShader's figure 2 has it, by IPv6 prefixes' lengths
};

/// IPv4 addresses, uniform over all.
Task ipv4_task(const Options& options);
/// 235,000 IPv6 prefixes as a trie and by lengths, with addresses uniform over them, and 4 million flows.
std::vector<Task> more_tasks(const Options& options);

}  // namespace penumbra::bench::gpu
