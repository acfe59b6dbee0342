// SPDX-License-Identifier: Apache-2.0
//
// Provides the data from which all parts of the page are made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/papers.h"
#include "report/plots.h"
#include "report/prices.h"

namespace penumbra::report {

/// Names of a document's machine: "A" if there are several, and "AMD EPYC 9654, 16 cores, NVIDIA H200".
struct MachineName {
  std::string letter, name;
  /// Returns "A: " or nothing.
  std::string prefix() const { return letter.empty() ? "" : letter + ": "; }
  /// Returns the letter, or the name of the only machine.
  const std::string& short_name() const { return letter.empty() ? name : letter; }
};

/// Why there are no results, in words that follow "Nothing was measured:".
struct Reason {
  std::string what;  ///< For example "the benchmark load failed".
  std::string why;   ///< For example "an answer was wrong". Empty if `what` is sufficient.
  std::string lack;  ///< The missing part of the machine: "no NVIDIA driver"; may be empty.
  std::string text() const { return why.empty() ? what : what + ": " + why; }
  /// Returns the reason for use in a list.
  std::string short_text() const { return lack.empty() ? what : "not here: " + lack; }
};

struct Context {
  Context(const std::vector<Document>& all_documents, const std::vector<PaperMeasurement>& all_papers,
          const PriceList& known_prices);

  /// Returns the plots of one of the papers' measurements.
  std::vector<Plot> plots_of_measurement(const std::string& measurement) const;
  /// Returns the papers' data about a measurement, or null.
  const PaperMeasurement* papers_of(const std::string& measurement) const;
  /// Returns a machine's entries that belong to a measurement.
  std::vector<const Entry*> entries_of(const std::string& measurement, std::size_t document) const;
  /// Returns true if a machine's results have a plot or a table for a measurement.
  bool has_figures(const std::string& measurement, std::size_t document) const;
  /// Returns a reason for each benchmark of a measurement without results on a machine. Returns at least one reason if
  /// the machine has no figures for the measurement.
  std::vector<Reason> lacks(const std::string& measurement, std::size_t document) const;
  /// Returns true if an entry belongs to that measurement.
  static bool belongs_to(const Entry& entry, const std::string& measurement);
  /// Returns true if an entry belongs to one of E1 to E22.
  static bool is_of_papers(const Entry& entry);

  const std::vector<Document>& documents;
  const std::vector<PaperMeasurement>& papers;
  const PriceList& prices;
  std::vector<Plot> plots;
  std::vector<MachineName> machines;  ///< The machine of each document.
};

/// Returns why an entry has no results, with its benchmark's name.
Reason reason_of(const std::string& benchmark, const Nothing& nothing);

}  // namespace penumbra::report
