// SPDX-License-Identifier: Apache-2.0
//
// A profile of a run: the source lines whose reads of memory missed the cache.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace gopt {

struct Profile {
  struct Counts {
    uint64_t instructions = 0;
    uint64_t misses = 0;
    uint64_t wrong_branches = 0;  ///< Branches that the core mispredicted.
    void add(const Counts& other);
  };
  /// Counts by the function into which the compiler put the line's code. The name is empty if the profile has none.
  using ByFunction = std::map<std::string, Counts>;
  using Lines = std::map<unsigned, ByFunction>;

  std::string event;  ///< The profile's name of a miss.
  bool has_instructions = false;
  bool has_branches = false;
  std::map<std::string, Lines> files;  ///< Lines by the profile's path without dot segments.

  void add(llvm::StringRef file, unsigned line, llvm::StringRef function, const Counts& counts);
  /// Returns the lines of a source: of the file whose path has the most trailing components in common with `path`.
  /// Compilers record paths as given, so prefixes may differ. Returns null if no file fits, or if several fit equally
  /// well; then `problem` says so.
  const Lines* of_source(llvm::StringRef path, std::string& problem) const;
};

/// Reads a file of cachegrind (cachegrind.out.PID), the output of cg_annotate or `perf report`, or lines "FILE:LINE
/// COUNT". Returns false on failure; `problem` then has the error and its place.
bool read_profile(const std::string& path, Profile& profile, std::string& problem);

}  // namespace gopt
