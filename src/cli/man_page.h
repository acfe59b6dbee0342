// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/parser_tree.h"

namespace penumbra::cli {

/// Returns the manual page of the program, section 1, in roff with the macros of man(7).
std::string man_page(const ParserCommand& program);

}  // namespace penumbra::cli
