// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/eve_writer.h"

#include <chrono>
#include <utility>

namespace penumbra::ids {

EveWriter::EveWriter(const std::string& target, EveFormat format, std::size_t workers)
    : format_(std::move(format)),
      output_(target),
      counts_(workers),
      learner_("penumbra-eve", workers, kEvents, std::chrono::seconds(1),
               [this](std::span<const Event> events) { take(events); }) {
  learner_.start();
}

void EveWriter::report(std::uint16_t worker, const Event& event) noexcept {
  counts_.add(worker, kReported);
  if (!learner_.report(worker, event)) counts_.add(worker, kLost);
}

void EveWriter::take(std::span<const Event> events) {
  if (events.empty()) {
    output_.turn();
    return;
  }
  lines_.clear();
  for (const Event& event : events) {
    lines_ += to_json(event, format_);
    lines_ += '\n';
  }
  (output_.write(lines_) ? written_ : lost_).fetch_add(events.size(), std::memory_order_relaxed);
  taken_.fetch_add(events.size(), std::memory_order_release);
}

}  // namespace penumbra::ids
