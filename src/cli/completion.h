// SPDX-License-Identifier: Apache-2.0
//
// Shell completion scripts, generated from the parser.
#pragma once

#include <string>

#include "cli/parser_tree.h"

namespace penumbra::cli {

std::string bash_completion(const ParserCommand& program);
std::string zsh_completion(const ParserCommand& program);
std::string fish_completion(const ParserCommand& program);

}  // namespace penumbra::cli
