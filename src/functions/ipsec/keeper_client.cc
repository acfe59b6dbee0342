// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/keeper_client.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "control/xfrm/attributes.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/marks.h"
#include "control/xfrm/migration.h"
#include "control/xfrm/protocol.h"
#include "control/xfrm/read_message.h"
#include "control/xfrm/write_message.h"
#include "functions/ipsec/lender.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

constexpr std::size_t kMostDatagram = 65536, kFullDatagram = 32768, kMostOutgoing = 1024;
constexpr std::uint64_t kRetryMs = 1000, kSettleMs = 500, kLongestSettleMs = 10'000, kGraceMs = 100, kHandoverMs = 1000;

bool has_algorithm(const xfrm::Attributes& attributes) {
  return attributes.has(XFRMA_ALG_AEAD) || attributes.has(XFRMA_ALG_CRYPT) || attributes.has(XFRMA_ALG_AUTH) ||
         attributes.has(XFRMA_ALG_AUTH_TRUNC);
}

/// Packets have no marks here. The keeper may have several SAs of one id that differ in their marks.
bool has_mark(const xfrm::Attributes& attributes) {
  return attributes.has(XFRMA_MARK);
}

/// Returns false for SAs that do not seal or open packets here: larval SAs, and those with a mark.
bool is_usable(const xfrm_usersa_info& raw, const xfrm::Attributes& attributes) {
  if (!has_algorithm(attributes)) return false;
  if (!has_mark(attributes)) return true;
  log_warning("ipsec: an SA with a mark is not used: spi " + std::to_string(ntohl(raw.id.spi)));
  return false;
}

/// Writes one request with a fixed part.
template <class Content>
xfrm::Buffer request_of(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, const Content& content) {
  xfrm::Buffer buffer;
  xfrm::MessageWriter writer(buffer);
  writer.begin(type, static_cast<std::uint16_t>(NLM_F_REQUEST | flags), {sequence, 0});
  writer.put(content);
  writer.end();
  return buffer;
}

std::span<const std::uint8_t> after(std::span<const std::uint8_t> payload, std::size_t fixed) {
  return payload.subspan(std::min<std::size_t>(NLMSG_ALIGN(fixed), payload.size()));
}

template <class Content>
Content require_fixed(std::span<const std::uint8_t> payload) {
  if (payload.size() < sizeof(Content)) throw std::runtime_error("a message of the keeper is too short");
  return xfrm::fixed_part<Content>(payload);
}

}  // namespace

KeeperClient::KeeperClient(std::filesystem::path socket, SaTable& table)
    : path_(std::move(socket)), table_(table), room_(kMostDatagram) {}

void KeeperClient::connect(std::uint64_t now_ms) {
  if (now_ms < next_try_ms_) return;
  next_try_ms_ = now_ms + kRetryMs;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path_.native();
  std::memcpy(address.sun_path, text.data(), std::min(text.size(), sizeof address.sun_path - 1));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(std::string("no keeper answers: ") + std::strerror(errno) + "; start it with `penumbra xfrm run`");
    return;
  }
  socket_ = std::move(socket);
  ++connections_;
  begin_sync();
}

void KeeperClient::close(const std::string& why) {
  socket_ = FileDescriptor();
  stage_ = Stage::closed;
  dumped_sas_.clear();
  dumped_policies_.clear();
  later_.clear();
  outgoing_.clear();
  lending_.clear();
  for (const auto& [id, sa] : table_.sas()) {
    sa->is_lending = false;
    sa->wants_numbers.store(false, std::memory_order_release);
  }
  if (why != last_problem_) log_warning("ipsec: " + path_.string() + ": " + why);
  last_problem_ = why;
}

void KeeperClient::begin_sync() {
  stage_ = Stage::sas;
  send(request_of(
      PENUMBRA_XFRM_HELLO, NLM_F_ACK, ++sequence_,
      penumbra_xfrm_hello{.port = 0, .groups = 0, .options = PENUMBRA_XFRM_TEXT | PENUMBRA_XFRM_DATA_PLANE}));
  send(request_of(XFRM_MSG_GETDEFAULT, 0, ++sequence_, xfrm_userpolicy_default{}));
  request_dump(XFRM_MSG_GETSA);
}

void KeeperClient::request_dump(std::uint16_t type) {
  if (type == XFRM_MSG_GETSA) {
    send(request_of(type, NLM_F_DUMP, ++sequence_, xfrm_usersa_id{}));
  } else {
    send(request_of(type, NLM_F_DUMP, ++sequence_, xfrm_userpolicy_id{}));
  }
}

void KeeperClient::send(const xfrm::Buffer& message) {
  if (!socket_) return;
  if (outgoing_.size() == kMostOutgoing) return close("the keeper is too slow");
  if (outgoing_.empty() || outgoing_.back().size() + message.size() > kFullDatagram) outgoing_.emplace_back();
  outgoing_.back().insert(outgoing_.back().end(), message.begin(), message.end());
}

void KeeperClient::flush() {
  while (socket_ && !outgoing_.empty()) {
    const xfrm::Buffer& datagram = outgoing_.front();
    const ssize_t sent = ::send(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) return;
    if (sent < 0) return close("the keeper is gone");
    outgoing_.pop_front();
  }
}

void KeeperClient::remove(const xfrm::SaId& id) {
  DataSa* const sa = table_.find(id);
  if (sa == nullptr) return;
  // A daemon may delete an outbound SA before it adds the successor.
  if (sa->numbers.left() > 0) {
    leaving_.push_back({sa->number, now_ms_ + kGraceMs, now_ms_ + kHandoverMs});
  } else {
    table_.remove(id);
  }
}

void KeeperClient::remove_leaving() {
  std::erase_if(leaving_, [&](const Leaving& each) {
    const DataSa* const sa = table_.find(each.number);
    if (sa == nullptr) return true;
    const bool is_needed = now_ms_ < each.grace_ms || (now_ms_ < each.until_ms && table_.has_waiting_successor(*sa));
    if (is_needed && sa->numbers.left() > 0) return false;
    table_.remove(sa->sa.settings.id);
    return true;
  });
}

void KeeperClient::step(std::uint64_t now_ms) {
  now_ms_ = now_ms;
  if (!socket_) connect(now_ms);
  while (socket_) {
    const ssize_t got = recv(socket_.get(), room_.data(), room_.bytes(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      close("the keeper is gone");
      break;
    }
    const auto length = static_cast<std::size_t>(got);
    try {
      read_datagram({reinterpret_cast<const std::uint8_t*>(room_.data()), length}, now_ms);
    } catch (const std::exception& problem) {
      // A message that cannot be understood may protect traffic.
      knows_policies_ = false;
      close(std::string("a message of the keeper cannot be used: ") + problem.what());
    }
    erase_bytes(room_.data(), length);
  }
  if (!leaving_.empty()) remove_leaving();
  if (stage_ != Stage::settling) return;
  const bool is_settled = now_ms >= settled_at_ms_ && (!dumped_policies_.empty() || !later_.empty());
  if (!is_settled && now_ms < settle_end_ms_) return;
  try {
    end_sync();
  } catch (const std::exception& problem) {
    knows_policies_ = false;
    close(std::string("the keeper's SAs cannot be used: ") + problem.what());
  }
}

void KeeperClient::read_datagram(std::span<const std::uint8_t> datagram, std::uint64_t now_ms) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto head = xfrm::fixed_part<nlmsghdr>(datagram);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > datagram.size()) {
      throw std::runtime_error("the length of a message is wrong");
    }
    take(head, datagram.first(head.nlmsg_len), now_ms);
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), datagram.size()));
  }
}

void KeeperClient::take(const nlmsghdr& head, std::span<const std::uint8_t> message, std::uint64_t now_ms) {
  const std::span<const std::uint8_t> payload = message.subspan(sizeof head);
  const bool is_dumped = (head.nlmsg_flags & NLM_F_MULTI) != 0;
  // The kernel may seal with the key, so that the end of the dumps is too late.
  if (head.nlmsg_type == PENUMBRA_XFRM_REVOKE) table_.remove(xfrm::to_id(require_fixed<xfrm_usersa_id>(payload)));
  if (is_dumped && head.nlmsg_type == PENUMBRA_XFRM_REVOKE) return;
  if (head.nlmsg_type == NLMSG_DONE) {
    if (stage_ == Stage::sas) {
      stage_ = Stage::policies;
      request_dump(XFRM_MSG_GETPOLICY);
    } else if (stage_ == Stage::policies) {
      // A keeper that began again gets its policies by and by. The old ones hold until it has them.
      stage_ = Stage::settling;
      settled_at_ms_ = now_ms + (knows_policies_ ? kSettleMs : 0);
      settle_end_ms_ = now_ms + (knows_policies_ ? kLongestSettleMs : 0);
    }
  } else if (head.nlmsg_type == NLMSG_ERROR) {
    take_error(payload);
  } else if (head.nlmsg_type == PENUMBRA_XFRM_LEND) {
    take_lent(head.nlmsg_seq, payload);
  } else if (is_dumped && head.nlmsg_type == XFRM_MSG_NEWSA) {
    const auto raw = require_fixed<xfrm_usersa_info>(payload);
    const xfrm::Attributes attributes(after(payload, sizeof raw));
    if (is_usable(raw, attributes)) {
      dumped_sas_.push_back(read_sa(raw, attributes));
    }
  } else if (is_dumped && head.nlmsg_type == XFRM_MSG_NEWPOLICY) {
    const auto raw = require_fixed<xfrm_userpolicy_info>(payload);
    dumped_policies_.push_back(xfrm::read_policy(raw, xfrm::Attributes(after(payload, sizeof raw)), wall_clock()));
  } else if (stage_ == Stage::ready) {
    change(message);
  } else {
    later_.emplace_back(message.begin(), message.end());
    if (stage_ == Stage::settling && knows_policies_) settled_at_ms_ = now_ms + kSettleMs;
  }
}

void KeeperClient::end_sync() {
  std::set<xfrm::SaId> kept;
  for (const xfrm::Sa& sa : dumped_sas_) kept.insert(sa.settings.id);
  std::vector<xfrm::SaId> gone;
  for (const auto& [id, sa] : table_.sas()) {
    if (!kept.contains(id)) gone.push_back(id);
  }
  for (const xfrm::SaId& id : gone) table_.remove(id);
  table_.remove_policies();
  // A dump lists the newest entry first.
  while (!dumped_sas_.empty()) {
    table_.put(std::move(dumped_sas_.back()));
    dumped_sas_.pop_back();
  }
  for (; !dumped_policies_.empty(); dumped_policies_.pop_back()) table_.put(std::move(dumped_policies_.back()));
  stage_ = Stage::ready;
  knows_policies_ = true;
  last_problem_.clear();
  const std::vector<xfrm::Buffer> changes = std::exchange(later_, {});
  for (const xfrm::Buffer& each : changes) change({each.data(), each.size()});
  log_info("ipsec: connected to the keeper, " + std::to_string(table_.sas().size()) + " SAs and " +
           std::to_string(table_.policies().all().size()) + " policies");
}

void KeeperClient::change(std::span<const std::uint8_t> message) {
  const auto head = xfrm::fixed_part<nlmsghdr>(message);
  const std::span<const std::uint8_t> payload = message.subspan(sizeof head);
  switch (head.nlmsg_type) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA: {
      const auto raw = require_fixed<xfrm_usersa_info>(payload);
      const xfrm::Attributes attributes(after(payload, sizeof raw));
      if (!is_usable(raw, attributes)) break;
      xfrm::Sa sa = read_sa(raw, attributes);
      const xfrm::SaId id = sa.settings.id;
      table_.put(std::move(sa));
      // The SA is back, perhaps unchanged, and stays.
      std::erase_if(leaving_, [&](const Leaving& each) { return table_.find(each.number) == table_.find(id); });
      break;
    }
    case PENUMBRA_XFRM_FIRST_NUMBERS:
      take_first_numbers(payload);
      break;
    case XFRM_MSG_DELSA: {
      const auto raw = require_fixed<xfrm_usersa_id>(payload);
      if (!has_mark(xfrm::Attributes(after(payload, sizeof raw)))) remove(xfrm::to_id(raw));
      break;
    }
    case PENUMBRA_XFRM_REVOKE:
      // An SA that stays is announced again.
      table_.remove(xfrm::to_id(require_fixed<xfrm_usersa_id>(payload)));
      break;
    case XFRM_MSG_MIGRATE: {
      const auto raw = require_fixed<xfrm_userpolicy_id>(payload);
      const xfrm::Migration migration = xfrm::read_migration(raw, xfrm::Attributes(after(payload, sizeof raw)));
      // The keeper has forgotten what leaves, and does not move it.
      for (Leaving& each : leaving_) {
        const DataSa* const sa = table_.find(each.number);
        if (sa == nullptr) continue;
        xfrm::SaSettings settings = sa->sa.settings;
        if (xfrm::migrate(migration, settings)) each.grace_ms = each.until_ms = 0;
      }
      remove_leaving();
      table_.migrate(migration);
      break;
    }
    case XFRM_MSG_FLUSHSA: {
      const std::uint8_t protocol = require_fixed<xfrm_usersa_flush>(payload).proto;
      constexpr std::uint8_t kAny = 255;
      if (protocol == 0 || protocol == xfrm::kProtocolEsp || protocol == kAny) table_.remove_sas();
      break;
    }
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY: {
      const auto raw = require_fixed<xfrm_userpolicy_info>(payload);
      table_.put(xfrm::read_policy(raw, xfrm::Attributes(after(payload, sizeof raw)), wall_clock()));
      break;
    }
    case XFRM_MSG_DELPOLICY: {
      const auto raw = require_fixed<xfrm_userpolicy_id>(payload);
      table_.remove(raw.index, xfrm::read_policy_key(raw, xfrm::Attributes(after(payload, sizeof raw))));
      break;
    }
    case XFRM_MSG_FLUSHPOLICY:
      table_.remove_policies(xfrm::read_policy_type(xfrm::Attributes(payload)));
      break;
    case XFRM_MSG_GETDEFAULT:
    case XFRM_MSG_SETDEFAULT: {
      const auto raw = require_fixed<xfrm_userpolicy_default>(payload);
      table_.set_defaults({.blocks_in = raw.in == XFRM_USERPOLICY_BLOCK,
                           .blocks_out = raw.out == XFRM_USERPOLICY_BLOCK,
                           .blocks_forward = raw.fwd == XFRM_USERPOLICY_BLOCK});
      break;
    }
    default:  // Expiries and other notifications change nothing here.
      break;
  }
}

xfrm::Sa KeeperClient::read_sa(const xfrm_usersa_info& raw, const xfrm::Attributes& attributes) {
  xfrm::Sa sa = xfrm::read_sa(raw, attributes, table_.store(), wall_clock());
  // Requests of daemons have no usage there, and so the reader leaves it out.
  sa.usage = xfrm::to_usage(raw.curlft);
  return sa;
}

void KeeperClient::take_error(std::span<const std::uint8_t> payload) {
  const auto raw = require_fixed<nlmsgerr>(payload);
  if (raw.error == 0) return;
  const auto asked = std::ranges::find(lending_, raw.msg.nlmsg_seq, [](const auto& each) { return each.first; });
  if (asked != lending_.end()) {
    // The numbers are used up, or the SA is gone.
    if (DataSa* const sa = table_.find(asked->second); sa != nullptr) sa->is_lending = false;
    lending_.erase(asked);
  } else if (raw.msg.nlmsg_type == PENUMBRA_XFRM_HELLO) {
    throw std::runtime_error(std::string("it refuses the data plane: ") + std::strerror(-raw.error));
  }
}

void KeeperClient::take_lent(std::uint32_t sequence, std::span<const std::uint8_t> payload) {
  const auto raw = require_fixed<penumbra_xfrm_lend>(payload);
  const auto asked = std::ranges::find(lending_, sequence, [](const auto& each) { return each.first; });
  if (asked == lending_.end()) return;
  DataSa* const sa = table_.find(asked->second);
  lending_.erase(asked);
  // A block for an SA that was replaced meanwhile is given up.
  if (sa == nullptr) return;
  sa->is_lending = false;
  // After a refused block, the agent asks again within a second.
  if (add_block(raw, *sa)) sa->wants_numbers.store(false, std::memory_order_release);
}

void KeeperClient::take_first_numbers(std::span<const std::uint8_t> payload) {
  const auto raw = require_fixed<penumbra_xfrm_lend>(payload);
  DataSa* const sa = table_.find(xfrm::to_id(raw.id));
  if (sa != nullptr && add_block(raw, *sa)) sa->note_block(raw.count, now_ms_);
}

bool KeeperClient::add_block(const penumbra_xfrm_lend& block, DataSa& sa) {
  const xfrm::SaSettings& settings = sa.sa.settings;
  const bool is_for_sa = xfrm::to_id(block.id) == settings.id &&
                         xfrm::Mark{.value = block.mark, .mask = block.mask} == settings.mark &&
                         std::ranges::equal(block.key, xfrm::fingerprint_of(sa.sa, xfrm::KeySalt{}));
  const bool is_added = is_for_sa && sa.numbers.add(block.first, block.count);
  ++(is_added ? blocks_ : blocks_refused_);
  return is_added;
}

void KeeperClient::lend(DataSa& sa, std::uint64_t count) {
  if (stage_ != Stage::ready) return;
  sa.is_lending = true;
  lending_.emplace_back(++sequence_, sa.number);
  penumbra_xfrm_lend wanted{};
  wanted.id = xfrm::raw_id(sa.sa.settings.id);
  wanted.count = static_cast<std::uint32_t>(count);
  send(request_of(PENUMBRA_XFRM_LEND, 0, sequence_, wanted));
}

void KeeperClient::report(DataSa& sa, std::uint64_t use_time) {
  if (stage_ != Stage::ready) return;
  const auto load = [](const std::atomic<std::uint64_t>& value) { return value.load(std::memory_order_relaxed); };
  const SaReport now{.bytes = load(sa.use->bytes),
                     .packets = load(sa.use->packets),
                     .late = load(sa.use->late),
                     .replayed = load(sa.use->replayed),
                     .bad_icv = load(sa.use->bad_icv),
                     .top = sa.window->top()};
  if (now == sa.reported) return;
  const SaReport before = std::exchange(sa.reported, now);
  const bool is_ring = sa.sa.settings.has_extended_replay;
  const std::size_t words = is_ring ? sa.sa.replay.bitmap.size() : 1;
  const bool has_window = now.top != before.top && now.top >= sa.sa.replay.in;
  const std::vector<std::uint32_t> bitmap =
      has_window ? sa.window->bitmap(static_cast<std::uint32_t>(words), is_ring) : std::vector<std::uint32_t>{};
  const auto less = [](std::uint64_t a, std::uint64_t b) { return static_cast<std::uint32_t>(a - b); };
  xfrm::Buffer buffer;
  xfrm::MessageWriter writer(buffer);
  writer.begin(PENUMBRA_XFRM_USAGE, NLM_F_REQUEST, {++sequence_, 0});
  writer.put(penumbra_xfrm_usage{.id = xfrm::raw_id(sa.sa.settings.id),
                                 .mark = 0,
                                 .bytes = now.bytes - before.bytes,
                                 .packets = now.packets - before.packets,
                                 .use_time = now.packets == 0 ? 0 : use_time,
                                 .received = now.top,
                                 .late = less(now.late, before.late),
                                 .replayed = less(now.replayed, before.replayed),
                                 .bad_icv = less(now.bad_icv, before.bad_icv),
                                 .words = static_cast<std::uint32_t>(bitmap.size())});
  for (const std::uint32_t word : bitmap) writer.put(word);
  writer.end();
  send(buffer);
}

void KeeperClient::acquire(const xfrm::Policy& policy, const Flow& flow) {
  if (stage_ != Stage::ready) return;
  xfrm::Selector selector;
  selector.source = flow.source;
  selector.destination = flow.destination;
  selector.family = flow.family;
  selector.source_prefix = selector.destination_prefix = static_cast<std::uint8_t>(xfrm::address_bits(flow.family));
  selector.protocol = flow.protocol;
  selector.source_port = flow.source_port;
  selector.destination_port = flow.destination_port;
  selector.source_port_mask = selector.destination_port_mask = 0xFFFF;
  send(request_of(PENUMBRA_XFRM_ACQUIRE, 0, ++sequence_,
                  penumbra_xfrm_acquire{.flow = xfrm::raw_selector(selector),
                                        .policy_index = policy.index,
                                        .interface_id = policy.interface_id,
                                        .direction = static_cast<std::uint8_t>(policy.direction),
                                        .type = policy.type}));
}

void KeeperClient::mapping(const DataSa& sa, const Flow& from) {
  if (stage_ != Stage::ready || !sa.sa.settings.encapsulation) return;
  xfrm_user_mapping raw{};
  raw.id = xfrm::raw_id(sa.sa.settings.id);
  raw.reqid = sa.sa.settings.request;
  raw.old_saddr = xfrm::raw_address(sa.sa.settings.source);
  raw.new_saddr = xfrm::raw_address(from.source);
  raw.old_sport = htons(sa.sa.settings.encapsulation->source_port);
  raw.new_sport = htons(from.source_port);
  send(request_of(PENUMBRA_XFRM_MAPPING, 0, ++sequence_, raw));
}

}  // namespace penumbra::ipsec
