// SPDX-License-Identifier: Apache-2.0
//
// Counts cache lines in shaders by a different g_expensive(). Compiled separately, so that its definition has no effect
// elsewhere.
#include "gpu/lines.h"

#include <gopt.h>

#include <stdexcept>
#include <vector>

namespace {
std::uint64_t lines_read = 0;
}
#undef g_expensive
#define g_expensive(...) ((void)++lines_read)

#include "tables/dir24_8/dir24_8.shader.h"
#include "tables/flows/flows.shader.h"
#include "tables/ipv6_lengths/ipv6_lengths.shader.h"
#include "tables/ipv6_trie/ipv6_trie.shader.h"

namespace penumbra::bench::gpu {
namespace {

template <class View, class Key, class Answer, class Count>
void run(void (*shader)(View, const Key*, Answer*, Count), const void* view, const LookupWork& work) {
  std::vector<Answer> answers(work.size());
  shader(*static_cast<const View*>(view), reinterpret_cast<const Key*>(work.key(0)), answers.data(),
         static_cast<Count>(work.size()));
  work.check(0, std::as_bytes(std::span(answers)));
}

}  // namespace

double lines_a_lookup(LookupWork& work) {
  const Table& table = work.penumbra_table();
  lines_read = 0;
  if (table.name() == "ipv4_dir24_8") {
    run(&dir24_8_lookup, table.view(), work);
  } else if (table.name() == "ipv6_trie") {
    run(&ipv6_trie_lookup, table.view(), work);
  } else if (table.name() == "ipv6_lengths") {
    run(&ipv6_lengths_lookup, table.view(), work);
  } else if (table.name() == "flows_lookup") {
    run(&flows_lookup, table.view(), work);
  } else {
    throw std::logic_error("whose lines are not counted: " + table.name());
  }
  return static_cast<double>(lines_read) / static_cast<double>(work.size());
}

}  // namespace penumbra::bench::gpu
