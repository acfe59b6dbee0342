// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

struct rte_mbuf;

namespace penumbra {

/// Why a Reassembly does not use a fragment.
enum class ReassemblyReason : std::uint8_t {
  none,
  // Reasons against one fragment. Its datagram remains.
  no_fragment,       ///< no fragment of IPv4 or IPv6
  bad_header,        ///< an IP header contradicts itself or the frame
  bad_length,        ///< no payload, or no last fragment and no multiple of 8 bytes (RFC 791, 3.2; RFC 8200, 4.5)
  beyond_65535,      ///< the fragment ends after the longest possible datagram
  tiny,              ///< no last fragment, and shorter than ReassemblyLimits::least_payload
  header_chain_cut,  ///< the first fragment of IPv6 does not have all headers (RFC 7112)
  shared,            ///< another packet shares the fragment's memory, so its bytes must not change
  duplicate,         ///< the datagram already has the same range
  overlapped,        ///< other fragments give all bytes of the fragment, by the policy
  // Reasons against a datagram. All its fragments are handed back.
  overlap,             ///< fragments overlap (RFC 5722)
  end_conflict,        ///< fragments disagree on the end of the datagram
  too_many_fragments,  ///< more parts than ReassemblyLimits::fragments
  ecn_conflict,        ///< a fragment has CE, and another is not ECN-capable (RFC 3168, 5.3)
  too_long,            ///< the datagram and its header have more than 65535 bytes
  timeout,             ///< the datagram was not complete in time
  no_room,             ///< the oldest datagram was evicted for a new one
  no_memory,           ///< the oldest datagram was evicted for a fragment, or a datagram takes all memory by itself
  no_mbuf,             ///< there is no mbuf for a copy that an overlap requires
  flushed,             ///< Reassembly::flush()
};
inline constexpr std::size_t kReassemblyReasons = static_cast<std::size_t>(ReassemblyReason::flushed) + 1;

/// Returns the name of the enumerator.
std::string_view to_string(ReassemblyReason reason);

/// Receives fragments that a Reassembly no longer holds, with the reason. The receiver owns them. Their bytes are those
/// given to Reassembly::add(). Refers to a callable (rte_mbuf*, ReassemblyReason), which must outlive the call and must
/// not call the Reassembly.
class HandBack {
 public:
  template <class Callable>
    requires(!std::same_as<std::remove_cvref_t<Callable>, HandBack> &&
             std::invocable<Callable&, rte_mbuf*, ReassemblyReason>)
  HandBack(Callable&& callable)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, rte_mbuf* packet, ReassemblyReason reason) {
          (*static_cast<std::remove_reference_t<Callable>*>(object))(packet, reason);
        }) {}
  void operator()(rte_mbuf* packet, ReassemblyReason reason) const { call_(object_, packet, reason); }

 private:
  void* object_;
  void (*call_)(void*, rte_mbuf*, ReassemblyReason);
};

}  // namespace penumbra
