// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

namespace penumbra::cli {

const Program& this_program() {
  static const Program kProgram{
      .name = "penumbra-bench",
      .title = "Measures Penumbra and its rivals",
      .notes = "\nThe measurements are explained in docs/performance.md, reports of results in docs/report.md.",
      .begin = "Begin with `penumbra-bench list`; `penumbra-bench COMMAND --help` explains a command.",
      .moved = {}};
  return kProgram;
}

}  // namespace penumbra::cli
