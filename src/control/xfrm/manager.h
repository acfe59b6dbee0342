// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/netlink.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/xfrm/attributes.h"
#include "control/xfrm/buffer.h"
#include "control/xfrm/marks.h"
#include "control/xfrm/protocol.h"
#include "control/xfrm/sad.h"
#include "control/xfrm/spd.h"
#include "control/xfrm/write_message.h"

namespace penumbra::control::xfrm {

/// Describes the process at the other end of a socket.
struct Sender {
  uid_t user = 0;
  std::uint32_t port = 0;    ///< Netlink port, which all replies carry.
  std::uint32_t groups = 0;  ///< Groups of notifications; bit N-1 is group N.
  bool wants_text = false;   ///< Errors have a text.
};

/// Tells all listeners of a group.
struct Notification {
  unsigned group = 0;
  Buffer message;
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  Buffer lent = {};  ///< Follows the message for one of the listeners: sequence numbers, which nobody else may get.
  bool renumbers_sas = false;  ///< A dump of SAs that is in progress may miss some, and cannot go on.
};

/// Continues a dump. A dump ends when `is_done` is true.
struct Dump {
  bool of_policies = false;
  ReplyTo to;
  std::uint64_t before = ~std::uint64_t{0};  ///< The next entry has a number below this one.
  std::uint8_t protocol = 0;                 ///< Protocol of SAs; 0: all.
  std::uint8_t policy_type = 0;
  std::optional<xfrm_address_filter> filter;
  bool is_done = false;
};

/// A reply that lends sequence numbers.
struct Lent {
  std::size_t reply = 0;  ///< Index in Outcome::replies.
  nlmsghdr request{};
};

/// Collects what a request causes.
struct Outcome {
  std::vector<Buffer> replies;
  std::vector<Notification> notifications;
  std::unique_ptr<Dump> dump;  ///< Set if the request began one.
  std::vector<Lent> lent;      ///< Replies that lend numbers. Their marks are saved when the datagram was handled.
};

/// Answers XFRM requests like Linux, and owns the SAD and the SPD. It has no socket. One thread uses it.
class Manager {
 public:
  using Clock = std::function<std::uint64_t()>;

  /// `marks` must outlive the manager. `clock` returns seconds since 1970. `owner` is the user whose data plane gets
  /// keys, besides root.
  Manager(HighWaterMarks& marks, Clock clock, uid_t owner);

  /// Sets the lifetime of a larval SA in seconds.
  void set_larval_seconds(std::uint64_t seconds) { larval_seconds_ = seconds; }

  /// Sets whether a data plane listens. Without one, SAs are announced without sequence numbers.
  void set_has_data_plane(bool has) { has_data_plane_ = has; }

  /// Handles the requests of one datagram. Bytes after an invalid length are ignored, as in Linux.
  void handle(Sender& sender, std::span<const std::uint8_t> datagram, Outcome& outcome);
  /// Writes the next messages of a dump into an empty buffer: at most `room` bytes, or one message that is longer.
  void continue_dump(const Sender& sender, Dump& dump, std::size_t room, Buffer& buffer);
  /// Reports limits that time has reached. Call it every second.
  void tick(Outcome& outcome);

  /// Counts a message that a listener did not get, because it does not read.
  void lose_notification() { ++notifications_lost_; }

  const Sad& sad() const { return sad_; }
  const Spd& spd() const { return spd_; }

 private:
  struct Request;
  using Handler = void (Manager::*)(Request&);

  static Handler handler_of(std::uint16_t type);
  void handle_one(Sender& sender, std::span<const std::uint8_t> message, Outcome& outcome);
  void begin_dump(Request& request);
  /// Saves the marks of lent numbers once for a datagram. Without success, nothing is lent.
  void save_marks(const Sender& sender, Outcome& outcome);

  void add_sa(Request& request);
  void remove_sa(Request& request);
  void get_sa(Request& request);
  void allocate_spi(Request& request);
  void flush_sas(Request& request);
  void get_event(Request& request);
  void set_event(Request& request);
  void expire_sa(Request& request);
  void get_sad_info(Request& request);

  void add_policy(Request& request);
  void get_policy(Request& request);
  void expire_policy(Request& request);
  void flush_policies(Request& request);
  void get_spd_info(Request& request);
  void set_spd_info(Request& request);
  void set_default(Request& request);
  void get_default(Request& request);
  void migrate(Request& request);

  void hello(Request& request);
  void lend(Request& request);
  /// Takes up to `count` sequence numbers for the data plane. Nobody may use them before save_marks(). Throws Refused
  /// if none is left; then the SA has expired.
  penumbra_xfrm_lend reserve(Sa& sa, std::uint32_t count, Outcome& outcome);
  /// Adds the first sequence numbers of an SA to the last notification, which announces it, if a policy waits for it.
  void lend_first(Sa& sa, Outcome& outcome);
  void take_usage(Request& request);
  void acquire(Request& request);
  void remap(Request& request);
  void tell_mapping(Sa& sa, const Address& source, std::uint16_t port, Outcome& outcome) const;
  /// Tells the mappings that had to wait.
  void tell_mappings(Outcome& outcome);
  void report(Request& request);
  void status(Request& request);

  Sa& require_sa(Request& request, const SaId& id);
  KeyView view_for(const Sender& sender, const Sa& sa) const;
  bool is_trusted(const Sender& sender) const { return sender.user == 0 || sender.user == owner_; }
  void take_mark(Sa& sa) const;
  void notify_sa(std::uint16_t type, const Sa& sa, Outcome& outcome) const;
  void notify_removed(const Sa& sa, Outcome& outcome) const;
  void notify_policy(std::uint16_t type, const Policy& policy, Outcome& outcome) const;
  void expire(Sa& sa, bool hard, Outcome& outcome);
  void expire(Policy& policy, bool hard, Outcome& outcome);
  void check_limits(Sa& sa, Outcome& outcome);

  HighWaterMarks& marks_;
  Clock clock_;
  uid_t owner_;
  KeyStore keys_;
  Sad sad_;
  Spd spd_;
  std::uint64_t larval_seconds_ = 30;
  bool has_data_plane_ = false;
  std::uint32_t acquires_ = 0;  ///< Number of the last ACQUIRE.
  std::uint64_t acquires_refused_ = 0, notifications_lost_ = 0;
  std::uint8_t default_in_ = XFRM_USERPOLICY_ACCEPT, default_forward_ = XFRM_USERPOLICY_ACCEPT,
               default_out_ = XFRM_USERPOLICY_ACCEPT;
};

}  // namespace penumbra::control::xfrm
