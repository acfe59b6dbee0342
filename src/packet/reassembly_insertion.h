// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

#include "packet/reassembly_fragment.h"
#include "packet/reassembly_policy.h"
#include "packet/reassembly_reason.h"
#include "packet/reassembly_table.h"

namespace penumbra {

/// Inserts one fragment into a datagram, and resolves overlaps. The bytes of mbufs do not change: parts are ranges of
/// them. If an overlap leaves two ranges of an mbuf, one is copied.
class FragmentInsertion {
 public:
  /// Finds the place of `fields.range` in at most `datagram.parts` steps. `copies` gives the mbufs of copies.
  FragmentInsertion(DatagramParts& parts, rte_mempool& copies, Datagram& datagram, rte_mbuf& packet,
                    const FragmentFields& fields);

  /// Returns how many parts insert() takes from the pool at most.
  std::size_t parts_needed() const { return overlaps_ + 2; }
  /// Makes the packet a part of the datagram. Hands back fragments that lose all their bytes to it. Returns
  /// ReassemblyReason::none if the packet is held now. Otherwise the packet still belongs to the caller, and the caller
  /// must drop the datagram, unless the reason is `duplicate` or `overlapped`.
  ReassemblyReason insert(OverlapPolicy policy, HandBack hand_back);

 private:
  ReassemblyReason resolve_overlaps(OverlapPolicy policy, HandBack hand_back);
  bool is_equal_in(const DatagramPart& held) const;
  bool make_way(HandBack hand_back);
  bool add_own_part(FragmentRange range);
  bool hold_copy(TableIndex part, const rte_mbuf& packet, std::uint32_t at);
  TableIndex insert_part(FragmentRange range);
  TableIndex following() const { return before_ == kNoIndex ? datagram_.first : parts_[before_].next; }

  DatagramParts& parts_;
  rte_mempool& copies_;
  Datagram& datagram_;
  rte_mbuf& packet_;
  const FragmentFields& fields_;
  std::size_t overlaps_ = 0;      ///< Parts with which the fragment overlaps.
  TableIndex before_ = kNoIndex;  ///< The last part before the current position.
  TableIndex own_ = kNoIndex;     ///< The part that will have the packet itself.
};

}  // namespace penumbra
