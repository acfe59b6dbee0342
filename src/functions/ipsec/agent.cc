// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/agent.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <utility>

#include "base/log.h"
#include "control/xfrm/protocol.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

constexpr std::uint64_t kSecondMs = 1000;
constexpr int kTurnMs = 5;
// A block of files is large, because a file of marks is written for each. The keeper's blocks begin small.
constexpr std::uint64_t kFirstBlock = PENUMBRA_XFRM_FIRST_BLOCK, kFirstBlockOfFiles = std::uint64_t{1} << 20,
                        kMostBlock = std::uint64_t{1} << 23;
// Packets of anybody may cause these reports. A policy must not take the place of all others.
constexpr std::uint32_t kAcquiresPerSecond = 256, kAcquiresOfPolicy = 64;
constexpr std::uint64_t kPauses = 3;  // Between two commits, in times that the first one took.

std::uint64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

Agent::Agent(const Settings& settings, SaTable& table, std::size_t workers) : settings_(settings), table_(table) {
  for (std::size_t i = 0; i < workers; ++i) rings_.push_back(std::make_unique<EventRing>());
  if (settings_.follows()) keeper_ = std::make_unique<KeeperClient>(settings_.socket, table);
}

Agent::~Agent() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const auto lock = table_.lock();
  if (keeper_ == nullptr) return;
  tick(steady_ms());
  keeper_->flush();
}

void Agent::start() {
  std::call_once(started_, [this] {
    if (keeper_ == nullptr) {
      const auto lock = table_.lock();
      try {
        lender_ = std::make_unique<FileLender>(settings_.marks, settings_.accepts_lost_marks);
      } catch (const std::exception& problem) {
        problem_ = problem.what();
        log_error("ipsec: no packet can be sealed: " + problem_);
      }
      lend_to_all();
      finish_lending();
      tick(steady_ms());
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  });
}

void Agent::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "ipsec");
  while (!stop.stop_requested()) {
    {
      const auto lock = table_.lock();
      turn(steady_ms());
    }
    pollfd wait{keeper_ != nullptr ? keeper_->descriptor() : -1, POLLIN, 0};
    poll(&wait, 1, kTurnMs);
  }
}

void Agent::turn(std::uint64_t now_ms) {
  if (keeper_ != nullptr) {
    keeper_->step(now_ms);
    const bool has_changes = table_.has_changes() || keeper_->knows_policies() != was_known_;
    if (has_changes && now_ms >= next_commit_ms_) {
      commit();
      // A commit takes time for each SA. Many changes that come one by one must not take a commit each.
      const std::uint64_t end = steady_ms();
      next_commit_ms_ = end + kPauses * (end - now_ms);
    }
  }
  drain(now_ms);
  // tick() must see the blocks, or it would ask for others.
  finish_lending();
  if (now_ms < next_tick_ms_) return;
  next_tick_ms_ = now_ms + kSecondMs;
  acquires_left_ = kAcquiresPerSecond;
  acquires_of_.clear();
  tick(now_ms);
  finish_lending();
}

void Agent::commit() {
  was_known_ = keeper_ == nullptr || keeper_->knows_policies();
  table_.commit(was_known_);
  lend_to_all();
}

void Agent::load(const Files& files) {
  const auto lock = table_.lock();
  std::set<xfrm::SaId> kept;
  for (const xfrm::Sa& sa : files.states) kept.insert(sa.settings.id);
  std::vector<xfrm::SaId> gone;
  for (const auto& [id, sa] : table_.sas()) {
    if (!kept.contains(id)) gone.push_back(id);
  }
  for (const xfrm::SaId& id : gone) table_.remove(id);
  for (const xfrm::Sa& sa : files.states) table_.put(copy_of(sa, table_.store()));
  table_.remove_policies();
  for (const xfrm::Policy& policy : files.policies) table_.put(policy);
  commit();
  finish_lending();
}

void Agent::set_ports(std::vector<PortEnd> ports) {
  const auto lock = table_.lock();
  table_.set_ports(std::move(ports));
  commit();
  finish_lending();
}

void Agent::lend_to_all() {
  for (const PolicyEntry& policy : table_.current().out) {
    for (DataSa* const sa : policy.sas) {
      if (sa->block == 0) lend(*sa);
    }
  }
}

void Agent::lend(DataSa& sa) {
  if (sa.is_lending || (keeper_ == nullptr && lender_ == nullptr)) return;
  const std::uint64_t now = steady_ms();
  const std::uint64_t first = keeper_ != nullptr ? kFirstBlock : kFirstBlockOfFiles;
  // An SA that soon wants more gets more.
  const std::uint64_t block = sa.block == 0                      ? first
                              : now - sa.lent_at < kSecondMs / 2 ? std::min(sa.block * 4, kMostBlock)
                                                                 : sa.block;
  if (keeper_ != nullptr) {
    keeper_->lend(sa, block);
    if (!sa.is_lending) return;
  } else {
    if (!lender_->reserve(sa, block, wall_clock())) return;
  }
  sa.note_block(block, now);
}

void Agent::finish_lending() {
  if (keeper_ != nullptr) return keeper_->flush();
  if (lender_ == nullptr) return;
  try {
    if (lender_->lend(wall_clock())) problem_.clear();
  } catch (const std::exception& problem) {
    if (problem_ != problem.what()) log_error("ipsec: no sequence numbers: " + std::string(problem.what()));
    problem_ = problem.what();
  }
}

void Agent::drain(std::uint64_t now_ms) {
  Event event;
  for (const auto& ring : rings_) {
    while (ring->pop(event)) {
      if (event.kind == Event::Kind::acquire) {
        acquire(event);
        continue;
      }
      DataSa* const sa = table_.find(event.sa);
      if (sa == nullptr) continue;
      if (event.kind == Event::Kind::wants_numbers) {
        // The event may be older than the last block.
        if (sa->numbers.left() <= sa->low_mark.load(std::memory_order_relaxed)) {
          lend(*sa);
        } else {
          sa->wants_numbers.store(false, std::memory_order_release);
        }
      } else if (keeper_ != nullptr) {
        remap(*sa, event.flow, now_ms);
      }
    }
  }
}

void Agent::acquire(const Event& event) {
  if (keeper_ == nullptr) return;
  std::uint32_t& of_policy = acquires_of_[event.policy];
  if (acquires_left_ == 0 || of_policy == kAcquiresOfPolicy) {
    ++acquires_limited_;
    return;
  }
  for (const PolicyEntry& each : table_.current().out) {
    if (each.policy.index != event.policy) continue;
    --acquires_left_;
    ++of_policy;
    ++acquires_;
    keeper_->acquire(each.policy, event.flow);
    return;
  }
}

void Agent::remap(DataSa& sa, const Flow& from, std::uint64_t now_ms) {
  if (now_ms - sa.mapped_at >= kSecondMs) return report_mapping(sa, from, now_ms);
  ++mappings_limited_;
  sa.moved_to = from;
}

void Agent::report_mapping(DataSa& sa, const Flow& from, std::uint64_t now_ms) {
  ++mappings_;
  keeper_->mapping(sa, from);
  sa.mapped_at = now_ms;
  sa.moved_to.reset();
}

void Agent::tick(std::uint64_t now_ms) {
  const std::uint64_t now = wall_clock();
  for (const auto& [id, sa] : table_.sas()) {
    const std::uint64_t packets = sa->use->packets.load(std::memory_order_relaxed);
    if (packets != 0 && sa->use->time.load(std::memory_order_relaxed) == 0) {
      sa->use->time.store(now, std::memory_order_relaxed);
    }
    if (sa->numbers.left() == 0 && sa->block != 0) lend(*sa);
    if (sa->moved_to) report_mapping(*sa, *sa->moved_to, now_ms);
    if (keeper_ != nullptr) {
      keeper_->report(*sa, sa->use->time.load(std::memory_order_relaxed));
      continue;
    }
    xfrm::Usage usage = sa->sa.usage;
    usage.bytes += sa->use->bytes.load(std::memory_order_relaxed);
    usage.packets += packets;
    usage.use_time = sa->use->time.load(std::memory_order_relaxed);
    const xfrm::Expiry expiry = xfrm::expiry_of(sa->sa.settings.limits, usage, sa->sa.dying, now);
    if (expiry == xfrm::Expiry::none) continue;
    const bool is_hard = expiry == xfrm::Expiry::hard;
    if (is_hard && sa->is_expired.exchange(true, std::memory_order_relaxed)) continue;
    sa->sa.dying = true;
    log_warning("ipsec: an SA reached its " + std::string(is_hard ? "hard" : "soft") + " limit: spi " +
                std::to_string(sa->sa.settings.id.spi));
  }
  table_.free_retired(false);
}

AgentState Agent::state() const {
  const auto lock = table_.lock();
  const std::uint64_t blocks = keeper_ != nullptr ? keeper_->blocks() : lender_ != nullptr ? lender_->blocks() : 0;
  AgentState state{.is_connected = keeper_ != nullptr && keeper_->is_connected(),
                   .knows_policies = table_.current().has_policies,
                   .connections = keeper_ != nullptr ? keeper_->connections() : 0,
                   .blocks = blocks,
                   .blocks_refused = keeper_ != nullptr ? keeper_->blocks_refused() : 0,
                   .acquires = acquires_,
                   .mappings = mappings_,
                   .acquires_limited = acquires_limited_,
                   .mappings_limited = mappings_limited_,
                   .problem = problem_};
  for (const auto& ring : rings_) {
    state.acquires_limited += ring->lost(Event::Kind::acquire);
    state.mappings_limited += ring->lost(Event::Kind::mapping);
  }
  return state;
}

}  // namespace penumbra::ipsec
