// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/command.h"

namespace {

/// Replaces closed standard streams by /dev/null. Otherwise, the next file that is opened (a capture, for example)
/// would become a standard stream and receive text. Using a replaced stream is still an error: standard input cannot be
/// read, and the output streams cannot be written.
void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // open() returns the lowest free number, and all lower numbers are in use.
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  // A closed pipe (`| head`) is an error of write(), after which a run can still close its captures. The same is true
  // of a file that reaches the size limit of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return penumbra::cli::run_program(argc, argv);
}
