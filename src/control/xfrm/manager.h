// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/netlink.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
  bool is_kernel = false;    ///< The requests repeat what the kernel did.
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

/// Counts what happened while SAs and policies came from the kernel.
struct KernelCounters {
  std::uint64_t locks = 0;          ///< SAs that the kernel cannot seal with any more.
  std::uint64_t lock_failures = 0;  ///< SAs that could not be locked.
  std::uint64_t refused_sas = 0, refused_policies = 0;
  std::uint64_t resyncs = 0;   ///< Complete dumps after the first one.
  std::uint64_t overruns = 0;  ///< Losses of notifications.
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

  /// From now on, SAs and policies come from the kernel. Clients may read; their changes are refused with EBUSY.
  void follow_kernel() { follows_kernel_ = true; }
  /// Returns counters, which nothing else changes.
  KernelCounters& kernel() { return kernel_; }
  /// Reads an SA as the kernel tells it. Throws Refused, also if the kernel hides the keys.
  Sa read_kernel_sa(const xfrm_usersa_info& raw, const Attributes& attributes);
  /// Returns the SA of this id and mark, or null.
  const Sa* find_sa(const SaId& id, const Mark& mark) { return sad_.find_exact(id, mark); }
  const Policy* find_policy(const PolicyKey& key) { return spd_.find(key); }
  /// Returns why numbers of counter modes cannot be lent, or an empty text.
  const std::string& why_marks_lost() const { return marks_.why_lost(); }
  /// True if the high-water marks contain the key of an SA.
  bool has_mark(const Sa& sa) const { return marks_.has(marks_.fingerprint(sa)); }
  /// Stores the keys and last outbound numbers of SAs in the high-water marks. Throws std::system_error.
  void add_marks(const std::vector<const Sa*>& sas);
  /// Raises the mark of an SA's key to its last outbound number. save_marks() stores it.
  void raise_mark(const Sa& sa);
  /// Notes for good that no number may be lent for the key of an SA. save_marks() stores that.
  void spend(const Sa& sa);
  /// True if the key of an SA was given to spend().
  bool is_spent(const Sa& sa) const { return marks_.find(marks_.fingerprint(sa)) == kUnlimited; }
  /// Adds an SA of the kernel, or changes the one that has its id. Throws Refused if another SA has the id. Call
  /// save_marks() before anybody gets the outcome.
  void adopt(Sa sa, Outcome& outcome);
  /// Removes the SA of this id and mark, or the policy of this key, if there is one.
  void drop(const SaId& id, const Mark& mark, Outcome& outcome);
  void drop(const PolicyKey& key, Outcome& outcome);
  /// Removes the SAs, other than larval ones, and the policies that a function returns false for.
  void retain_sas(const std::function<bool(const SaSettings&)>& stays, Outcome& outcome);
  void retain_policies(const std::function<bool(const Policy&)>& stays, Outcome& outcome);
  /// Saves the marks of lent numbers once for a datagram. Without success, nothing is lent.
  void save_marks(const Sender& sender, Outcome& outcome);

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

  /// Returns the SA that a request names, or null. A message of the kernel names one by its whole mark.
  Sa* find_sa(const Request& request, const SaId& id);
  Sa& require_sa(Request& request, const SaId& id);
  KeyView view_for(const Sender& sender, const Sa& sa) const;
  bool is_trusted(const Sender& sender) const { return sender.user == 0 || sender.user == owner_; }
  void take_mark(Sa& sa) const;
  void notify_sa(std::uint16_t type, const Sa& sa, Outcome& outcome) const;
  void notify_removed(const Sa& sa, Outcome& outcome) const;
  void notify_policy(std::uint16_t type, const Policy& policy, Outcome& outcome) const;
  void remove(const Sa& sa, Outcome& outcome);
  /// Takes back the numbers that the data plane may have for an SA.
  static void revoke(const SaSettings& sa, Outcome& outcome);
  /// Replies to a data plane which SAs seal nothing. It may have numbers from an earlier keeper.
  void revoke_unsealed(Outcome& outcome) const;
  void remove(const Policy& policy, Outcome& outcome);
  /// Asks for another SA in place of one that seals nothing, at most once a minute for a reqid.
  void ask_for_successor(Sa& sa, Outcome& outcome);
  Limits watched_limits(const Sa& sa) const;
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

  /// The window of an inbound SA that was removed. The kernel adds a moved SA with an empty window.
  struct KeptWindow {
    Replay replay;
    std::uint64_t time = 0;  ///< Seconds since 1970 of the removal.
  };
  bool follows_kernel_ = false;
  KernelCounters kernel_;
  std::map<KeyFingerprint, KeptWindow> windows_;
  std::map<std::uint32_t, std::uint64_t> successors_asked_;  ///< By reqid, in seconds since 1970.
};

}  // namespace penumbra::control::xfrm
