// SPDX-License-Identifier: Apache-2.0
#include "cli/ask.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/render.h"
#include "control/config.h"
#include "penumbra/errors.h"
#include "runtime/control_client.h"

namespace penumbra::cli {
namespace {

std::filesystem::path socket_of(const RouterAddress& address) {
  return address.socket.empty() ? control::default_socket() : std::filesystem::path(address.socket);
}

/// Throws the error as if this process had found it.
[[noreturn]] void pass_on(const runtime::RouterRefusal& refusal) {
  switch (refusal.kind()) {
    case runtime::RefusalKind::usage:
      throw Failure(ExitCode::usage, refusal.what());
    case runtime::RefusalKind::input:
      throw InputError(refusal.location(), refusal.what());
    case runtime::RefusalKind::failure:
    case runtime::RefusalKind::permission:
    case runtime::RefusalKind::version:
      break;
  }
  throw Failure(ExitCode::failure, refusal.what());
}

}  // namespace

void add_router_options(CLI::App& command, RouterAddress& address) {
  add_json_flag(command, address.json);
  add_socket_option(command, address);
}

void add_wide_flag(CLI::App& command, RouterAddress& address) {
  command.add_flag("--wide", address.wide,
                   fmt::format("Tables with all their columns, also beyond {} characters a line", kTableWidth));
}

void add_socket_option(CLI::App& command, RouterAddress& address) {
  command
      .add_option("--socket", address.socket,
                  fmt::format("The router's control socket; if not given {}", control::kDefaultSocketInWords))
      ->type_name("FILE");
}

void connected(const RouterAddress& address, const std::function<void(const std::filesystem::path& socket)>& action) {
  try {
    action(socket_of(address));
  } catch (const Failure&) {
    throw;
  } catch (const std::system_error&) {
    throw;
  } catch (const runtime::RouterRefusal& refusal) {
    pass_on(refusal);
  } catch (const std::runtime_error& error) {
    if (!address.socket.empty()) throw Failure(ExitCode::no_connection, error.what());
    throw Failure(
        ExitCode::no_connection,
        fmt::format("{}\nA router of another user, or one whose configuration has 'control: {{socket: PATH}}', "
                    "is asked with --socket PATH (by default {}).",
                    error.what(), control::kDefaultSocketInWords));
  }
}

nlohmann::ordered_json ask(const RouterAddress& address, const std::string& command, const std::string& topic,
                           const std::vector<std::string>& arguments) {
  nlohmann::ordered_json answer;
  connected(address, [&](const std::filesystem::path& socket) {
    // A large table takes time; a user who waits can interrupt the program.
    answer = runtime::ask_router(socket, command, topic, arguments, std::chrono::minutes(2));
  });
  return answer;
}

void print_answer(const nlohmann::ordered_json& answer, bool json, bool wide) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  write_output(json ? answer.dump(2, ' ', false, Handler::replace) + "\n"
                    : render(answer, wide ? kUnlimitedWidth : kTableWidth));
}

}  // namespace penumbra::cli
