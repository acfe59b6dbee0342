// SPDX-License-Identifier: Apache-2.0
//
// A profile of a run: which source lines read memory that was not in the cache.
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
    uint64_t wrong_branches = 0;  ///< that the core has guessed wrong
    void add(const Counts& other);
  };
  /// By the function that the compiler has put the line's code into; without a name where the profile has none.
  using ByFunction = std::map<std::string, Counts>;
  using Lines = std::map<unsigned, ByFunction>;

  std::string event;  ///< what a miss is, in the profile's words
  bool has_instructions = false;
  bool has_branches = false;
  std::map<std::string, Lines> files;  ///< by path as the profile has it, without dots

  void add(llvm::StringRef file, unsigned line, llvm::StringRef function, const Counts& counts);
  /// The lines of a source: of the file whose path ends most like this one's, for compilers write paths down as they
  /// are given them. Null if there is none, and if several fit equally well, which `problem` says then.
  const Lines* of_source(llvm::StringRef path, std::string& problem) const;
};

/// Reads what cachegrind writes (cachegrind.out.PID), what cg_annotate makes of it, what `perf report` prints, or lines
/// "FILE:LINE COUNT". Else `problem` says what is wrong, and where.
bool read_profile(const std::string& path, Profile& profile, std::string& problem);

}  // namespace gopt
