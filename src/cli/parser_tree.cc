// SPDX-License-Identifier: Apache-2.0
#include "cli/parser_tree.h"

#include <CLI/CLI.hpp>

namespace penumbra::cli {
namespace {

/// CLI11 stores the name of an option's value and the descriptions of its validators in one text:
/// "ENGINE:{auto,scalar}".
void split_type(const std::string& type, ParserOption& option) {
  const auto colon = type.find(':');
  option.value = type.substr(0, colon);
  const auto open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return;
  std::string word;
  for (const char letter : type.substr(open + 1, close - open - 1) + ",") {
    if (letter == ',') {
      option.choices.push_back(word);
      word.clear();
    } else {
      word += letter;
    }
  }
}

ParserOption describe_option(const CLI::Option& source) {
  ParserOption option;
  for (const auto& name : source.get_snames()) option.names.push_back("-" + name);
  for (const auto& name : source.get_lnames()) option.names.push_back("--" + name);
  if (source.get_items_expected_max() > 0) split_type(source.get_type_name(), option);
  option.label = option.names.empty() ? source.get_single_name() : option.value;
  option.default_value = source.get_default_str();
  option.help = source.get_description();
  option.required = source.get_required();
  option.repeats = source.get_items_expected_max() > 1;
  return option;
}

void add_options(const CLI::App& app, bool inherited, ParserCommand& command) {
  for (const auto* source : app.get_options()) {
    if (inherited && source == app.get_help_ptr()) continue;
    const ParserOption option = describe_option(*source);
    if (!option.names.empty()) {
      command.options.push_back(option);
    } else if (!inherited) {
      command.arguments.push_back(option);
    }
  }
  if (app.get_fallthrough() && app.get_parent() != nullptr) add_options(*app.get_parent(), true, command);
}

ParserCommand describe_under(const CLI::App& app, const std::string& parent) {
  ParserCommand command;
  command.name = app.get_name();
  command.full_name = parent.empty() ? command.name : parent + " " + command.name;
  command.summary = app.get_description();
  command.notes = app.get_footer();
  add_options(app, false, command);
  for (const auto* child : app.get_subcommands(nullptr)) {
    command.commands.push_back(describe_under(*child, command.full_name));
  }
  return command;
}

}  // namespace

ParserCommand describe(const CLI::App& parser) {
  return describe_under(parser, "");
}

}  // namespace penumbra::cli
