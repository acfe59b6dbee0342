// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/eve_writer.h"

#include <chrono>
#include <memory>
#include <utility>

namespace penumbra::ids {

EveWriter::EveWriter(const EveSettings& settings, EveFormat format, std::size_t workers, Statistics statistics)
    : settings_(settings),
      format_(std::move(format)),
      output_(settings.target),
      counts_(workers),
      statistics_(std::move(statistics)),
      next_statistics_(std::chrono::steady_clock::now() + settings.stats) {
  learner_.emplace("penumbra-eve", workers, kEvents, std::chrono::seconds(1),
                   [this](std::span<const Reported> events) { take(events); });
  learner_->start();
}

EveWriter::~EveWriter() {
  learner_.reset();
  if (settings_.stats.count() != 0) write_statistics();
}

void EveWriter::report(std::uint16_t worker, const Event& event, const std::string& members) noexcept {
  if (!wants(event.kind)) return;
  counts_.add(worker, kReported);
  // Members are of any length. A ring of long ones would take gigabytes.
  const std::size_t before = waiting_.fetch_add(members.size(), std::memory_order_relaxed);
  std::unique_ptr<std::string> copy;
  if (!members.empty() && before < kMostBytes) copy = std::make_unique<std::string>(members);
  const bool has_room = members.empty() || copy != nullptr;
  if (has_room && learner_ && learner_->report(worker, {event, copy.get()})) {
    copy.release();  // NOLINT(bugprone-unused-return-value): the thread frees it
    return;
  }
  waiting_.fetch_sub(members.size(), std::memory_order_relaxed);
  counts_.add(worker, kLost);
}

void EveWriter::take(std::span<const Reported> events) {
  if (events.empty()) {
    output_.turn();
    if (settings_.stats.count() != 0 && std::chrono::steady_clock::now() >= next_statistics_) write_statistics();
    return;
  }
  lines_.clear();
  for (const Reported& each : events) {
    const std::unique_ptr<std::string> members(each.members);
    lines_ += to_json(each.event, members == nullptr ? std::string_view() : *members, format_);
    lines_ += '\n';
    if (members != nullptr) waiting_.fetch_sub(members->size(), std::memory_order_relaxed);
  }
  write(events.size());
  taken_.fetch_add(events.size(), std::memory_order_release);
}

void EveWriter::write_statistics() {
  next_statistics_ += settings_.stats;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  lines_ = to_json("stats", static_cast<std::uint64_t>(microseconds), statistics_()) + '\n';
  write(1);
}

void EveWriter::write(std::size_t events) {
  (output_.write(lines_) ? written_ : lost_).fetch_add(events, std::memory_order_relaxed);
}

}  // namespace penumbra::ids
