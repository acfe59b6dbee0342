// SPDX-License-Identifier: Apache-2.0
//
// `penumbra man`.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/man_page.h"
#include "cli/output.h"

namespace penumbra::cli {
namespace {

void set_up_man(CLI::App& command) {
  command.callback([] { write_output(man_page(describe(*make_parser()))); });
}

const bool kManCommand = register_command({"man", "Print the manual page: penumbra man | man -l -", set_up_man});

}  // namespace
}  // namespace penumbra::cli
