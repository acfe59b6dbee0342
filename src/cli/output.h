// SPDX-License-Identifier: Apache-2.0
//
// Standard output with error checks.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace penumbra::cli {

/// The reader of standard output has closed it: not an error, but a reason to stop.
struct OutputClosed {};

/// Stands for standard output in place of a file name.
inline constexpr const char* kStandardOutput = "-";

/// Throws Failure if `file` exists and is not a capture, so that overwriting would destroy other data.
void refuse_precious(const std::string& file);

/// Writes to standard output, buffered. Throws OutputClosed, or Failure with the reason.
void write_output(std::string_view text);
/// Writes the output of `write` to a file, or to standard output for "-". Throws Failure or OutputClosed.
void write_file(const std::string& file, const std::function<void(std::ostream&)>& write);
/// Returns the number of bytes written to standard output.
std::uint64_t output_bytes() noexcept;
/// Flushes the buffer of standard output. Throws like write_output().
void flush_output();

}  // namespace penumbra::cli
