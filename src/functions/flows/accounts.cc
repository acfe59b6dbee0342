// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/accounts.h"

#include <algorithm>
#include <random>
#include <utility>

namespace penumbra::flows {
namespace {

constexpr milliseconds kTurn(50);
constexpr milliseconds kDeadlineStep(10);
/// An account stays open for this time after a FIN or RST, because packets may be late.
constexpr milliseconds kAfterTheEnd(2000);
constexpr std::size_t kWaitingPackets = 65'535;
/// Limits the accounts that are checked in one turn and with each group of reports. Accounts are then closed as fast as
/// others are opened. Many accounts that end together do not delay reports.
constexpr std::size_t kLooksPerTurn = 32'768, kLooksPerGroup = 1'024;

std::uint64_t secret_seed() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

std::uint64_t wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(now).count());
}

/// Returns the time between two readings of a clock that wraps. A reading of another worker may be slightly earlier, so
/// the result is at least 0.
milliseconds between(std::uint32_t earlier, std::uint32_t later) {
  return milliseconds(std::max(std::int32_t{0}, static_cast<std::int32_t>(later - earlier)));
}

}  // namespace

Accounts::Accounts(const Settings& settings, GracePeriods& grace_periods, Clock clock, std::size_t workers)
    : clock_(std::move(clock)),
      settings_(settings),
      table_(settings.max_flows, secret_seed(), grace_periods),
      workers_(workers),
      by_workers_(workers),
      deadlines_(settings.max_flows, clock_(), kDeadlineStep) {}

Accounts::~Accounts() {
  learner_.reset();  // processes all pending reports
  table_.for_each(0, table_.end(), [this](std::uint32_t number) {
    table_.remove(number, static_cast<std::uint8_t>(EndReason::forced));
  });
  table_.reclaim([this](flow_record& record, std::uint8_t why) { close(record, EndReason{why}); }, true);
  if (exporter_ != nullptr) exporter_->flush();
}

void Accounts::start() {
  if (settings_.exported) exporter_ = std::make_unique<Exporter>(*settings_.exported, exported_);
  learner_ = std::make_unique<Learner<UnknownPacket>>(
      "flows", workers_, kWaitingPackets, kTurn, [this](std::span<const UnknownPacket> packets) { take(packets); });
  learner_->start();
}

void Accounts::tell(const UnknownPacket& packet, std::size_t worker) noexcept {
  if (!learner_->report(worker, packet)) by_workers_.add(worker, kRingFull);
}

/// If the ring is full, the account is closed by its other timeouts.
void Accounts::tell_end(std::uint32_t record, std::size_t worker) noexcept {
  UnknownPacket ended;
  ended.ended = record;
  learner_->report(worker, ended);
}

void Accounts::leave_out(FlowFrame why, std::size_t worker) noexcept {
  by_workers_.add(worker, why == FlowFrame::not_ip ? kNotIp : kMalformed);
}

void Accounts::take(std::span<const UnknownPacket> packets) {
  const std::lock_guard lock(mutex_);
  const milliseconds now = clock_();
  for (const UnknownPacket& packet : packets) open_or_count(packet, now);
  if (packets.empty()) {
    take_turn(now);
  } else {
    close_what_ended(now, kLooksPerGroup);
  }
  table_.commit();
}

void Accounts::open_or_count(const UnknownPacket& unknown, milliseconds now) {
  if (unknown.ended != FlowTable::kNone) {
    if (table_.is_found(unknown.ended)) set_deadline(unknown.ended, now);
    return;
  }
  const auto [what, number] = table_.insert(unknown.key, unknown.packet.time);
  switch (what) {
    case FlowTable::Inserted::full:
      ++unaccounted_.table_full;
      return;
    case FlowTable::Inserted::no_place:
      ++unaccounted_.no_place;
      return;
    case FlowTable::Inserted::collision:
      ++unaccounted_.collision;
      return;
    case FlowTable::Inserted::fresh:
      ++opened_;
      break;
    case FlowTable::Inserted::known:
      break;
  }
  flow_record& record = table_.record(number);
  // The report of the later packet may arrive first if two workers see packets of one flow.
  if (static_cast<std::int32_t>(unknown.packet.time - record.first) < 0) record.first = unknown.packet.time;
  const bool ends = count(record, unknown.packet);
  if (ends || what == FlowTable::Inserted::fresh) set_deadline(number, now);
}

void Accounts::take_turn(milliseconds now) {
  close_what_ended(now, kLooksPerTurn);
  table_.commit();  // the grace period that starts now must cover readers of all mirrors
  table_.reclaim([this](flow_record& record, std::uint8_t why) { close(record, EndReason{why}); });
  if (exporter_ != nullptr) exporter_->flush();
}

/// Returns the reason to close the account, or std::nullopt if it stays open.
std::optional<EndReason> Accounts::end_of(const FlowCounts& counts, std::uint32_t now) const {
  const milliseconds idle = between(counts.last, now);
  if (idle >= settings_.idle_timeout) return EndReason::idle;
  if ((counts.tcp_flags & kTcpEnd) != 0 && idle >= kAfterTheEnd) return EndReason::ended;
  if (between(counts.first, now) >= settings_.active_timeout) return EndReason::active;
  return std::nullopt;
}

/// Sets the deadline of an account to the time at which it closes if no packet arrives.
void Accounts::set_deadline(std::uint32_t record, milliseconds now) {
  const FlowCounts counts = counts_of(table_.record(record));
  const auto now_as_recorded = static_cast<std::uint32_t>(now.count());
  const bool ends = (counts.tcp_flags & kTcpEnd) != 0;
  const milliseconds silence = ends ? std::min(settings_.idle_timeout, kAfterTheEnd) : settings_.idle_timeout;
  const milliseconds left = std::min(silence - between(counts.last, now_as_recorded),
                                     settings_.active_timeout - between(counts.first, now_as_recorded));
  deadlines_.put(record, now + left);
}

/// Checks accounts whose deadlines are reached, at most `budget`. A record may belong to another flow or to none by
/// now, so the state of the record decides.
void Accounts::close_what_ended(milliseconds now, std::size_t budget) {
  const auto now_as_recorded = static_cast<std::uint32_t>(now.count());
  deadlines_.take_due(now, budget, [&](std::uint32_t number) {
    if (!table_.is_found(number)) return;
    if (const auto reason = end_of(counts_of(table_.record(number)), now_as_recorded)) {
      table_.remove(number, static_cast<std::uint8_t>(*reason));
    } else {
      set_deadline(number, now);
    }
  });
}

/// No worker may count into the record any more.
void Accounts::close(flow_record& record, EndReason reason) {
  auto& closed = reason == EndReason::idle     ? closed_.idle
                 : reason == EndReason::active ? closed_.active
                 : reason == EndReason::ended  ? closed_.ended
                                               : closed_.forced;
  ++closed;
  if (exporter_ == nullptr) return;
  const milliseconds now = clock_();
  ClosedFlow flow = describe(record, now);
  flow.reason = reason;
  exporter_->add(flow, now);
}

ClosedFlow Accounts::describe(flow_record& record, milliseconds now) const {
  const auto now_as_recorded = static_cast<std::uint32_t>(now.count());
  const std::uint64_t wall = wall_clock_ms();
  ClosedFlow flow{.key = key_of(record), .counts = counts_of(record)};
  const auto ago = [&](std::uint32_t time) {
    return static_cast<std::uint64_t>(between(time, now_as_recorded).count());
  };
  flow.first = wall - ago(flow.counts.first);
  flow.last = wall - ago(flow.counts.last);
  return flow;
}

void Accounts::change(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  if (settings.exported != settings_.exported) {
    std::unique_ptr<Exporter> next;
    if (settings.exported) next = std::make_unique<Exporter>(*settings.exported, exported_);
    if (exporter_ != nullptr) exporter_->flush();
    exporter_ = std::move(next);
  }
  const std::size_t max_flows = settings_.max_flows;
  settings_ = settings;
  settings_.max_flows = max_flows;
  deadlines_.bring_forward();
}

AccountsState Accounts::state() const {
  const std::lock_guard lock(mutex_);
  AccountsState state{.settings = settings_,
                      .flows = table_.size(),
                      .most = table_.most(),
                      .memory_bytes = table_.memory_bytes() + table_.end() * Deadlines::kBytes,
                      .opened = opened_,
                      .closed = closed_,
                      .exported = exported_,
                      .unaccounted = unaccounted_};
  state.unaccounted.not_ip += by_workers_.sum(kNotIp);
  state.unaccounted.malformed += by_workers_.sum(kMalformed);
  state.unaccounted.ring_full += by_workers_.sum(kRingFull);
  return state;
}

void Accounts::for_each(const std::function<bool(std::uint32_t record, const ClosedFlow& flow)>& visit) const {
  constexpr std::uint32_t kAtATime = 16'384;
  bool more = true;
  for (std::uint32_t begin = 0; more; begin += kAtATime) {
    const std::lock_guard lock(mutex_);
    if (begin >= table_.end()) return;
    const milliseconds now = clock_();
    table_.for_each(begin, std::min(table_.end(), begin + kAtATime), [&](std::uint32_t number) {
      if (more) more = visit(number, describe(table_.record(number), now));
    });
  }
}

}  // namespace penumbra::flows
