// SPDX-License-Identifier: Apache-2.0
//
// The document of a run (docs/bench-results.md), in memory and in its file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench.h"

namespace penumbra::bench {

/// Whether an entry of a document has calibrations, and not a reason why there are none.
bool is_measured(const nlohmann::json& entry);

class Document {
 public:
  /// With an output file, whose results are kept if they are of this machine and build and of the same input. Throws
  /// std::invalid_argument, with the reason, if they are not or if it is no such file.
  Document(const Options& options, nlohmann::json machine, nlohmann::json build);

  /// Whether the benchmark has been measured already, in as many rounds as are asked for (with a budget: in any).
  bool has(const Benchmark& benchmark) const;
  /// Takes the place of what is there of the benchmark, and writes the file. Throws std::system_error.
  void add(const Benchmark& benchmark, nlohmann::json entry);

  BarCount bars() const { return count_bars(json_["results"]); }
  const nlohmann::json& json() const { return json_; }

 private:
  void take_over(const std::filesystem::path& file);
  void store() const;              ///< if there is a file
  nlohmann::json verdict() const;  ///< what stands under "met"

  const Options& options_;
  nlohmann::json json_;
};

}  // namespace penumbra::bench
