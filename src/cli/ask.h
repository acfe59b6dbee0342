// SPDX-License-Identifier: Apache-2.0
//
// What the commands that talk to a running router have in common.
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
  bool wide = false;  ///< tables with all their columns
};

/// `--socket PATH`.
void add_socket_option(CLI::App& command, RouterAddress& address);
/// The same and `-j`.
void add_router_options(CLI::App& command, RouterAddress& address);
/// `--wide`.
void add_wide_flag(CLI::App& command, RouterAddress& address);
/// Does what needs a router, with its socket. Of what that throws it makes Failure: no_connection if no router listens
/// there or it goes away; with the router's own words if it refuses, usage if what was asked for is wrong, else
/// failure. A wrong file is an InputError, as if it had been read here.
void connected(const RouterAddress& address, const std::function<void(const std::filesystem::path& socket)>& action);
/// Sends a request. Throws likewise.
nlohmann::ordered_json ask(const RouterAddress& address, const std::string& command, const std::string& topic,
                           const std::vector<std::string>& arguments);
/// As JSON or for people, whose tables have all columns if they are to be `wide`.
void print_answer(const nlohmann::ordered_json& answer, bool json, bool wide = false);

}  // namespace penumbra::cli
