// SPDX-License-Identifier: Apache-2.0
//
// Functions for commands that talk to a running router.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

struct RouterAddress {
  std::string socket;  ///< empty: control::default_socket()
  bool json = false;
  bool wide = false;  ///< print tables with all columns
};

/// Adds `--socket PATH`.
void add_socket_option(CLI::App& command, RouterAddress& address);
/// Adds `--socket PATH` and `-j`.
void add_router_options(CLI::App& command, RouterAddress& address);
/// Adds `--wide`.
void add_wide_flag(CLI::App& command, RouterAddress& address);
/// Calls `action` with the socket of a router. Throws Failure (no_connection) if no router listens there or the
/// connection ends. If the router refuses, throws Failure with the router's message: usage for a wrong request,
/// otherwise failure. Throws InputError for a wrong file, as if this process had read it.
void connected(const RouterAddress& address, const std::function<void(const std::filesystem::path& socket)>& action);
/// Sends a request and returns the answer. Throws like connected().
nlohmann::ordered_json ask(const RouterAddress& address, const std::string& command, const std::string& topic,
                           const std::vector<std::string>& arguments);
/// Prints an answer as JSON or as text. With `wide`, tables have all columns.
void print_answer(const nlohmann::ordered_json& answer, bool json, bool wide = false);

}  // namespace penumbra::cli
