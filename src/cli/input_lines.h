// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penumbra::cli {

/// The lines of a file descriptor, as many at a time as one read returns. A user who types or pipes lines gets answers
/// when input pauses, and a large file is read in large blocks.
class InputLines {
 public:
  explicit InputLines(int descriptor);

  /// Waits for input. Returns whole lines without their line ends, valid until the next call. The last line may lack
  /// its line end. Returns no lines at the end of the input. Throws Failure if reading fails or a line is longer than
  /// 64 KiB.
  const std::vector<std::string_view>& next();

 private:
  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< start of the text that next() has not returned yet
  bool ended_ = false;
  std::vector<std::string_view> lines_;
};

}  // namespace penumbra::cli
