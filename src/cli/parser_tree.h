// SPDX-License-Identifier: Apache-2.0
//
// The parser as data. The man page and the shell completions are generated from it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// An option, or a positional argument.
struct ParserOption {
  std::vector<std::string> names;  ///< "-j", "--json"; empty for an argument
  std::string label;               ///< name of the value or argument in the help: "FILE", "CONFIG"
  std::string value;               ///< placeholder of the value ("FILE", "N"); empty for a flag
  std::vector<std::string> choices;
  std::string help;
  std::string default_value;  ///< empty: nothing to mention
  bool required = false;
  bool repeats = false;

  /// Returns true if the value is a file name.
  bool is_file() const { return value == "FILE"; }
  /// Returns the kind of names of the running router that the value is one of: "ports", "functions", "reasons", or "".
  std::string names_of_router() const {
    if (value == "STAGE") return "functions";
    return value.starts_with("PORT") ? "ports" : value == "REASON" ? "reasons" : "";
  }
};

struct ParserCommand {
  std::string name;
  std::string full_name;  ///< "penumbra gen routes"
  std::string summary;
  std::string notes;                  ///< text at the end of its help
  std::vector<ParserOption> options;  ///< including options that it takes for its parent
  std::vector<ParserOption> arguments;
  std::vector<ParserCommand> commands;
};

/// Describes `parser` and all its subcommands.
ParserCommand describe(const CLI::App& parser);

}  // namespace penumbra::cli
