// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly_reason.h"

#include <array>

namespace penumbra {

std::string_view to_string(ReassemblyReason reason) {
  constexpr std::array<std::string_view, kReassemblyReasons> kNames{"none",
                                                                    "no_fragment",
                                                                    "bad_header",
                                                                    "bad_length",
                                                                    "beyond_65535",
                                                                    "tiny",
                                                                    "header_chain_cut",
                                                                    "shared",
                                                                    "duplicate",
                                                                    "overlapped",
                                                                    "overlap",
                                                                    "end_conflict",
                                                                    "too_many_fragments",
                                                                    "ecn_conflict",
                                                                    "too_long",
                                                                    "timeout",
                                                                    "no_room",
                                                                    "no_memory",
                                                                    "no_mbuf",
                                                                    "flushed"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace penumbra
