// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "penumbra/function.h"

namespace penumbra {
namespace {

std::vector<FunctionInfo>& registered() {
  static std::vector<FunctionInfo> list;
  return list;
}

}  // namespace

nlohmann::ordered_json FunctionWorker::explain(const Chunk& /*chunk*/, std::uint16_t /*packet*/) const {
  return nlohmann::ordered_json::object();
}

bool register_function(FunctionInfo info) {
  auto& list = registered();
  const auto after = [&info](const FunctionInfo& other) { return other.name > info.name; };
  list.insert(std::find_if(list.begin(), list.end(), after), std::move(info));
  return true;
}

const std::vector<FunctionInfo>& functions() {
  return registered();
}

const FunctionInfo* find_function(std::string_view name) {
  const auto& list = registered();
  const auto found = std::find_if(list.begin(), list.end(), [name](const auto& info) { return info.name == name; });
  return found == list.end() ? nullptr : &*found;
}

std::vector<FunctionCommand> function_commands() {
  std::vector<FunctionCommand> commands;
  for (const auto& function : functions()) {
    for (const auto& command : function.commands) {
      const auto known = std::ranges::find(commands, command.name, &FunctionCommand::name);
      if (known == commands.end()) {
        commands.push_back(command);
        continue;
      }
      for (const auto& action : command.actions) {
        if (std::ranges::find(known->actions, action.name, &CommandAction::name) != known->actions.end()) continue;
        known->actions.push_back(action);
      }
    }
  }
  std::ranges::sort(commands, {}, &FunctionCommand::name);
  return commands;
}

std::unique_ptr<Change> Function::prepare(std::string_view command, std::string_view /*action*/,
                                          const CommandEntries& /*entries*/) {
  throw std::logic_error("a function registers the command " + std::string(command) + " and does not carry it out");
}

}  // namespace penumbra
