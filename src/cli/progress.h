// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/router.h"

namespace penumbra::cli {

/// The progress of a run on standard error: a line that updates itself on a terminal, otherwise one line per second if
/// wanted.
class Progress {
 public:
  /// `wanted` requests progress even if standard error is not a terminal.
  explicit Progress(bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Erases the line from the terminal.
  ~Progress();

  void tick(const runtime::Statistics& now);

 private:
  bool terminal_ = false, wanted_ = false;
  runtime::Statistics last_;
};

/// The number of packets that a command has processed, as a line that updates itself. Prints on terminals only.
class PacketProgress {
 public:
  PacketProgress();
  PacketProgress(const PacketProgress&) = delete;
  PacketProgress& operator=(const PacketProgress&) = delete;
  /// Erases the line from the terminal.
  ~PacketProgress();

  /// Starts a step with a description such as "reading wan.pcap".
  void begin(std::string step);
  /// Counts a packet.
  void count() {
    if (terminal_ && ++packets_ % kPacketsApart == 0) show();
  }

 private:
  static constexpr std::uint64_t kPacketsApart = 1024;  ///< packets between two checks of the clock
  void show();

  bool terminal_ = false;
  std::string step_;
  std::uint64_t packets_ = 0;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace penumbra::cli
