// SPDX-License-Identifier: Apache-2.0
//
// What all parts of the page are made from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/papers.h"
#include "report/plots.h"
#include "report/prices.h"

namespace penumbra::report {

/// How a document's machine is called: "A" if there are several, and "AMD EPYC 9654, 16 cores, NVIDIA H200".
struct MachineName {
  std::string letter, name;
  /// "A: " or nothing.
  std::string prefix() const { return letter.empty() ? "" : letter + ": "; }
  /// The letter, or the name of the only one.
  const std::string& short_name() const { return letter.empty() ? name : letter; }
};

/// Why there is nothing, in words that follow "Nothing was measured:".
struct Reason {
  std::string what;  ///< "the benchmark load failed"
  std::string why;   ///< "an answer was wrong"; empty if `what` says all
  std::string lack;  ///< "no NVIDIA driver", of what the machine lacks; may be empty
  std::string text() const { return why.empty() ? what : what + ": " + why; }
  /// In a list.
  std::string short_text() const { return lack.empty() ? what : "not here: " + lack; }
};

struct Context {
  Context(const std::vector<Document>& all_documents, const std::vector<PaperMeasurement>& all_papers,
          const PriceList& known_prices);

  /// Those of one of the papers' measurements.
  std::vector<Plot> plots_of_measurement(const std::string& measurement) const;
  /// What the papers have about it, or null.
  const PaperMeasurement* papers_of(const std::string& measurement) const;
  /// That machine's entries that belong to it.
  std::vector<const Entry*> entries_of(const std::string& measurement, std::size_t document) const;
  /// Whether that machine's results have a plot or a table for it.
  bool has_figures(const std::string& measurement, std::size_t document) const;
  /// What of it that machine's results lack: a reason for each benchmark without findings. There is one at least if
  /// they have no figures for it.
  std::vector<Reason> lacks(const std::string& measurement, std::size_t document) const;
  /// Whether an entry belongs to that measurement.
  static bool belongs_to(const Entry& entry, const std::string& measurement);
  /// Whether an entry belongs to one of E1 to E22.
  static bool is_of_papers(const Entry& entry);

  const std::vector<Document>& documents;
  const std::vector<PaperMeasurement>& papers;
  const PriceList& prices;
  std::vector<Plot> plots;
  std::vector<MachineName> machines;  ///< of each document
};

/// Why an entry has no findings, with its benchmark's name.
Reason reason_of(const std::string& benchmark, const Nothing& nothing);

}  // namespace penumbra::report
