// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command.h"

namespace penumbra::cli {
namespace {

void require(bool written) {
  if (written) return;
  if (errno == EPIPE) throw OutputClosed{};
  throw Failure(ExitCode::failure, std::string("standard output: ") + std::strerror(errno));
}

}  // namespace

void write_output(std::string_view text) {
  require(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void flush_output() {
  require(std::fflush(stdout) == 0);
}

}  // namespace penumbra::cli
