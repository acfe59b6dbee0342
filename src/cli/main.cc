// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/command.h"

namespace {

/// Takes the place of standard streams that are closed, or the next file that is opened (a capture, say) would be one,
/// and text would be written into it. Using one stays an error: standard input cannot be read, the others not written.
void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // open() takes the lowest number that is free, and those below this one are not.
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  // A reader that has gone away (`| head`) is an error of write(), which a run that still has captures to close
  // survives. So is a file that reaches the size that this process may write.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return penumbra::cli::run_program(argc, argv);
}
