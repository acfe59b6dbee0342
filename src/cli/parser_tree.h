// SPDX-License-Identifier: Apache-2.0
//
// The parser as data: what the man page and the shell completions are generated from.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// An option, or an argument without a name of its own.
struct ParserOption {
  std::vector<std::string> names;  ///< "-j", "--json"; empty for an argument
  std::string label;               ///< what the help calls its value or the argument: "FILE", "CONFIG"
  std::string value;               ///< what stands for its value ("FILE", "N"); empty for a flag
  std::vector<std::string> choices;
  std::string help;
  std::string default_value;  ///< empty: none worth mentioning
  bool required = false;
  bool repeats = false;

  /// Whether its value is a file's name.
  bool is_file() const { return value == "FILE"; }
  /// Which names of the running router its value is one of: "ports", "functions", "reasons", or "" for none.
  std::string names_of_router() const {
    if (value == "STAGE") return "functions";
    return value.starts_with("PORT") ? "ports" : value == "REASON" ? "reasons" : "";
  }
};

struct ParserCommand {
  std::string name;
  std::string full_name;  ///< "penumbra gen routes"
  std::string summary;
  std::string notes;                  ///< what stands at the end of its help
  std::vector<ParserOption> options;  ///< with those that it takes for its parent
  std::vector<ParserOption> arguments;
  std::vector<ParserCommand> commands;
};

/// `parser` and everything below it.
ParserCommand describe(const CLI::App& parser);

}  // namespace penumbra::cli
