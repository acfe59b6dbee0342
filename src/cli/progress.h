// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "runtime/router.h"

namespace penumbra::cli {

/// What a run is doing at the moment, on standard error: one line that renews itself on a terminal, else a line a
/// second if wanted, else nothing.
class Progress {
 public:
  /// `wanted`: also if standard error is no terminal.
  explicit Progress(bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Wipes the line off the terminal.
  ~Progress();

  void tick(const runtime::Statistics& now);

 private:
  bool terminal_ = false, wanted_ = false;
  runtime::Statistics last_;
};

}  // namespace penumbra::cli
