// SPDX-License-Identifier: Apache-2.0
//
// Standard output, with its errors noticed.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace penumbra::cli {

/// The reader of standard output has gone away: no error, but no reason to go on either.
struct OutputClosed {};

/// In place of a file's name.
inline constexpr const char* kStandardOutput = "-";

/// Throws Failure if `file`, written anew, would take something with it that is no capture.
void refuse_precious(const std::string& file);

/// Writes to standard output, buffered. Throws OutputClosed, or Failure with the reason.
void write_output(std::string_view text);
/// What `write` writes goes to a file, or to standard output for "-". Throws Failure or OutputClosed.
void write_file(const std::string& file, const std::function<void(std::ostream&)>& write);
/// How much has been written.
std::uint64_t output_bytes() noexcept;
/// Hands what is buffered to the reader. Throws likewise.
void flush_output();

}  // namespace penumbra::cli
