// SPDX-License-Identifier: Apache-2.0
//
// Lends sequence numbers to SAs of files, so that no number is used twice with a key, also after a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "control/xfrm/marks.h"
#include "functions/ipsec/sa.h"

namespace penumbra::ipsec {

/// Returns the last sequence number that an SA may send. With counter modes and without ESN it also is the limit of
/// packets under one key.
std::uint64_t last_number(const control::xfrm::SaSettings& settings);

/// Returns seconds since 1970.
std::uint64_t wall_clock();

class FileLender {
 public:
  /// Opens the file of high-water marks. Throws std::runtime_error if that fails, if another process has it, or if it
  /// was lost and `accepts_loss` is false.
  FileLender(const std::filesystem::path& marks, bool accepts_loss);

  /// Reserves a block for an SA. Returns false if no number is left.
  bool reserve(DataSa& sa, std::uint64_t count, std::uint64_t now);
  /// Adds all reserved blocks to their SAs, which still exist. Returns false if there is none. Throws std::system_error
  /// if the marks cannot be written; then the blocks are lost.
  bool lend(std::uint64_t now);
  /// Returns how many blocks SAs got.
  std::uint64_t blocks() const { return blocks_; }

 private:
  struct Block {
    DataSa* sa = nullptr;
    std::uint64_t first = 0, count = 0;
  };

  std::vector<Block> reserved_;
  std::uint64_t blocks_ = 0;
  FileDescriptor lock_;
  std::unique_ptr<control::xfrm::HighWaterMarks> marks_;
};

}  // namespace penumbra::ipsec
