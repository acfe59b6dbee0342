// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <ostream>
#include <streambuf>

#include "cli/command.h"
#include "io/output_file.h"

namespace penumbra::cli {
namespace {

void require(bool success) {
  if (success) return;
  if (errno == EPIPE) throw OutputClosed{};
  throw Failure(ExitCode::failure, std::string("standard output: ") + std::strerror(errno));
}

std::uint64_t bytes_written = 0;

/// Passes its text to write_output().
class StandardOutput final : public std::streambuf {
 protected:
  std::streamsize xsputn(const char* text, std::streamsize bytes) override {
    write_output({text, static_cast<std::size_t>(bytes)});
    return bytes;
  }
  int_type overflow(int_type letter) override {
    const char byte = traits_type::to_char_type(letter);
    write_output({&byte, 1});
    return letter;
  }
};

}  // namespace

void refuse_precious(const std::string& file) {
  if (file == kStandardOutput || !io::is_precious(file)) return;
  throw Failure(ExitCode::usage,
                fmt::format("{} is there already and is no capture; write to another file, or remove that one", file));
}

void write_output(std::string_view text) {
  bytes_written += text.size();
  require(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void write_file(const std::string& file, const std::function<void(std::ostream&)>& write) {
  if (file == kStandardOutput) {
    StandardOutput buffer;
    std::ostream out(&buffer);
    out.exceptions(std::ios::badbit);  // rethrows exceptions of the buffer
    return write(out);
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out) write(out);
  out.close();
  if (!out) throw Failure(ExitCode::failure, fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
}

std::uint64_t output_bytes() noexcept {
  return bytes_written;
}

void flush_output() {
  require(std::fflush(stdout) == 0);
}

}  // namespace penumbra::cli
