// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "classifying.h"
#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// Returns the bytes of a header in the format of shaders.
constexpr std::size_t key_bytes_of(RuleFields fields) {
  return words_of(fields) * sizeof(std::uint64_t);
}

/// Headers to be classified by a rule structure, with known right answers.
class RuleWork final : public LookupWork {
 public:
  /// `task` must outlive it. `right` has the answers to all of its headers, as a rule's place in the task from 1 on.
  RuleWork(const std::string& structure, std::uint64_t seed, const RuleTask& task, std::vector<std::uint32_t> right);
  /// Uses an empty table that `make` makes.
  using MakeTable = std::function<std::unique_ptr<RuleTable>(GracePeriods&)>;
  RuleWork(const MakeTable& make, const RuleTask& task, std::vector<std::uint32_t> right);

  Table& penumbra_table() override { return table_->table(); }

 private:
  std::vector<std::uint32_t> right_;
  NoReaders no_readers_;
  std::unique_ptr<RuleTable> table_;
};

/// Returns the right answers to a task's headers. One structure finds them on the CPU; linear search confirms as many
/// as time permits.
std::vector<std::uint32_t> right_answers(const RuleTask& task, std::uint64_t seed);

}  // namespace penumbra::bench::gpu
