// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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

/// How many packets a command has gone through so far, on a terminal only: one line that renews itself.
class PacketProgress {
 public:
  PacketProgress();
  PacketProgress(const PacketProgress&) = delete;
  PacketProgress& operator=(const PacketProgress&) = delete;
  /// Wipes the line off the terminal.
  ~PacketProgress();

  /// `step` says what is being done from now on: "reading wan.pcap".
  void begin(std::string step);
  /// Another packet.
  void count() {
    if (terminal_ && ++packets_ % kPacketsApart == 0) show();
  }

 private:
  static constexpr std::uint64_t kPacketsApart = 1024;  ///< between two looks at the clock
  void show();

  bool terminal_ = false;
  std::string step_;
  std::uint64_t packets_ = 0;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace penumbra::cli
