// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "cli/command.h"

int main(int argc, char** argv) {
  // A reader that has gone away (`| head`) is an error of write(), which a run that still has captures to close
  // survives.
  std::signal(SIGPIPE, SIG_IGN);
  return penumbra::cli::run_program(argc, argv);
}
