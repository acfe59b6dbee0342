// SPDX-License-Identifier: Apache-2.0
//
// Writes XFRM messages as Linux does.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "control/xfrm/buffer.h"
#include "control/xfrm/migration.h"
#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

/// Addresses a reply: the sequence number and the port of the request. Both are 0 for a notification.
struct ReplyTo {
  std::uint32_t sequence = 0, port = 0;
};

/// Selects what a message shows of keys: the keys, zeros of the same length, or no algorithm at all.
enum class KeyView : std::uint8_t { full, zeroed, none };

/// Appends messages to a buffer. As in Linux, the length of a message includes its padding to 4 bytes.
class MessageWriter {
 public:
  explicit MessageWriter(Buffer& buffer) : buffer_(buffer) {}

  /// Writes NEWSA, UPDSA or, in a dump, one part of it (`flags` NLM_F_MULTI).
  void sa(std::uint16_t type, const Sa& sa, KeyView view, ReplyTo to = {}, std::uint16_t flags = 0);
  /// Writes DELSA.
  void sa_removed(const Sa& sa, KeyView view);
  void expire(const Sa& sa, bool hard);
  /// Writes the request to negotiate an SA for `policy`. `flow` selects the packet that had none.
  void acquire(const Sa& larval, const Policy& policy, const Selector& flow);
  /// Tells that a peer's packets come from a new address and port.
  void mapping(const Sa& sa, const Address& new_source, std::uint16_t new_port);
  /// Writes NEWAE. `asked` has the bits XFRM_AE_RTHR and XFRM_AE_ETHR of thresholds to show.
  void event(const Sa& sa, std::uint32_t asked, ReplyTo to = {});
  /// Writes the request for one SA.
  void get_sa(const SaId& id, const Mark& mark);
  /// Writes the request for one policy, by its index.
  void get_policy(const Policy& policy);
  /// Writes the request to set the kernel's replay state of an SA. Its usage stays.
  void set_replay(const Sa& sa);
  /// Writes NEWPOLICY or UPDPOLICY.
  void policy(std::uint16_t type, const Policy& policy, ReplyTo to = {}, std::uint16_t flags = 0);
  /// Writes DELPOLICY.
  void policy_removed(const Policy& policy);
  /// Writes MIGRATE. As in Linux, each move is an attribute, or as in a request, one attribute has them all (`joined`).
  void migrated(const Migration& migration, bool joined);
  void policy_expire(const Policy& policy, bool hard);
  void report(std::uint8_t protocol, const Selector& flow);
  void flushed_sas(std::uint8_t protocol);
  void flushed_policies(std::uint8_t type);
  /// Writes the number of SAs. `asked` are the flags of the request.
  void sad_info(std::uint32_t asked, std::uint32_t count, ReplyTo to);
  void spd_info(std::uint32_t asked, const std::uint32_t (&in_out_forward)[3], ReplyTo to);
  /// Writes the verdicts on packets without a policy (XFRM_USERPOLICY_ACCEPT, for example).
  void default_actions(std::uint8_t in, std::uint8_t forward, std::uint8_t out, ReplyTo to);
  /// Ends an SA in the data plane at once.
  void revoked(const SaId& id, std::uint16_t flags);
  /// Ends a dump.
  void done(ReplyTo to);
  /// Acknowledges a request, or refuses it with an errno over 0. `request` is its header of 16 bytes. A reason is
  /// written as an extended acknowledgement unless it is empty.
  void answer(const std::uint8_t* request, int error, std::string_view reason, ReplyTo to);

  /// Begins a message of any type; end() closes it.
  void begin(std::uint16_t type, std::uint16_t flags, ReplyTo to);
  /// Appends a structure. Bytes between its members are 0, so that no byte of other memory leaves the process.
  template <class Content>
  void put(const Content& content) {
    Content copy = content;
#if defined(__GNUC__) && !defined(__clang__)
    if constexpr (!std::has_unique_object_representations_v<Content>) __builtin_clear_padding(&copy);
#endif
    put_bytes(&copy, sizeof copy);
  }
  void end();

 private:
  void put_bytes(const void* bytes, std::size_t count);
  void put_zeros(std::size_t count);
  void put_attribute_head(std::uint16_t type, std::size_t bytes);
  template <class Content>
  void attribute(std::uint16_t type, const Content& content) {
    put_attribute_head(type, sizeof content);
    put(content);
  }
  void pad();
  template <class Raw>
  void put_algorithm(std::uint16_t type, Raw raw, const Algorithm& algorithm, const std::uint8_t* key, KeyView view);
  void put_algorithms(const Sa& sa, KeyView view);
  void put_replay(const Sa& sa);
  void put_mark(const Mark& mark, std::uint32_t interface_id);
  void put_encapsulation(const Encapsulation& encapsulation);
  void put_extras(const Sa& sa, KeyView view);
  void put_policy_type(std::uint8_t type);
  void put_policy_extras(const Policy& policy);

  Buffer& buffer_;
  std::size_t begin_ = 0;
};

}  // namespace penumbra::control::xfrm
