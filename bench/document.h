// SPDX-License-Identifier: Apache-2.0
//
// The document of a run (docs/bench-results.md), in memory and in its file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench.h"

namespace penumbra::bench {

/// True if an entry of a document has results, rather than a reason for their absence.
bool is_measured(const nlohmann::json& entry);

class Document {
 public:
  /// Loads the output file, if there is one, and keeps its results if machine, build and input agree. Throws
  /// std::invalid_argument with the reason if they do not, or if the file is no document.
  Document(const Options& options, nlohmann::json machine, nlohmann::json build);

  /// True if the benchmark already has results, of as many rounds as requested (with a budget: of any number).
  bool has(const Benchmark& benchmark) const;
  /// Replaces the benchmark's entry, and writes the file. Throws std::system_error.
  void add(const Benchmark& benchmark, nlohmann::json entry);

  BarCount bars() const { return count_bars(json_["results"]); }
  const nlohmann::json& json() const { return json_; }

 private:
  void take_over(const std::filesystem::path& file);
  void store() const;              ///< Does nothing without a file.
  nlohmann::json verdict() const;  ///< Returns the value of "met".

  const Options& options_;
  nlohmann::json json_;
};

}  // namespace penumbra::bench
