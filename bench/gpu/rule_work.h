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

/// Of a header in the form that shaders take.
constexpr std::size_t key_bytes_of(RuleFields fields) {
  return words_of(fields) * sizeof(std::uint64_t);
}

/// Headers classified by a structure for rules, whose right answers are known.
class RuleWork final : public LookupWork {
 public:
  /// `task` outlives it. `right` are the answers, as place from 1 on of a rule of the task, of all its headers.
  RuleWork(const std::string& structure, std::uint64_t seed, const RuleTask& task, std::vector<std::uint32_t> right);
  /// The same by a table that `make` makes, which is empty.
  using MakeTable = std::function<std::unique_ptr<RuleTable>(GracePeriods&)>;
  RuleWork(const MakeTable& make, const RuleTask& task, std::vector<std::uint32_t> right);

  Table& penumbra_table() override { return table_->table(); }

 private:
  std::vector<std::uint32_t> right_;
  NoReaders no_readers_;
  std::unique_ptr<RuleTable> table_;
};

/// The right answers of a task's headers, found on the CPU by one structure and compared with linear search's for as
/// many headers as that has time for.
std::vector<std::uint32_t> right_answers(const RuleTask& task, std::uint64_t seed);

}  // namespace penumbra::bench::gpu
