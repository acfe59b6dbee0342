// SPDX-License-Identifier: Apache-2.0
//
// `penumbra tls`, with its subcommands `setup` and `status`.
#include <fmt/format.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/log.h"
#include "base/unix_socket.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tls_reference.h"
#include "crypto/rsa/ifma.h"
#include "crypto/rsa/key_file.h"
#include "crypto/rsa_engine/message.h"

namespace penumbra::cli {
namespace {

namespace fs = std::filesystem;

struct SetupOptions {
  std::string certificate, output = ".", server, engine, engine_user;
  unsigned port = 8443, threads = 1, haproxy_threads = 1;
  bool is_plain = false;
};

constexpr char kProviderLines[] = R"(    ssl-mode-async
    ssl-provider penumbra
    ssl-provider default
    ssl-propquery "?provider=penumbra"
)";

/// HAProxy's configuration. The cache of sessions and the tickets are off, so that every connection needs a signature.
std::string haproxy_configuration(const SetupOptions& options) {
  const std::string answer = options.server.empty()
                                 ? R"(    http-request return status 200 content-type text/plain string "Penumbra")"
                                 : fmt::format("    server backend {}", options.server);
  return fmt::format(R"(# Written by `penumbra tls setup`.
global
    nbthread {}
    maxconn 4000
    tune.ssl.cachesize 0
    ssl-default-bind-options no-tls-tickets
{}defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
listen tls
    bind :{} ssl crt {}
{}
)",
                     options.haproxy_threads, options.is_plain ? "" : kProviderLines, options.port,
                     fs::absolute(options.certificate).lexically_normal().string(), answer);
}

/// Returns the provider's path in a build folder; empty for an installed program, whose provider OpenSSL finds itself.
std::string module_of_build() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path module = program.parent_path().parent_path() / "lib/ossl-modules/penumbra.so";
  return fs::exists(module, error) ? module.string() : "";
}

std::string engine_lines(const SetupOptions& options) {
  if (options.engine.empty()) return "";
  std::string lines = fmt::format("engine = {}\n", fs::absolute(options.engine).lexically_normal().string());
  if (!options.engine_user.empty()) lines += fmt::format("engine-user = {}\n", options.engine_user);
  return lines;
}

std::string openssl_configuration(const SetupOptions& options) {
  const std::string module = module_of_build();
  return fmt::format(R"(# Written by `penumbra tls setup`.
openssl_conf = openssl_init
[openssl_init]
providers = providers
[providers]
penumbra = penumbra
[penumbra]
{}threads = {}
counters = {}
{})",
                     module.empty() ? "" : fmt::format("module = {}\n", module), options.threads,
                     (fs::absolute(options.output) / "counters").lexically_normal().string(), engine_lines(options));
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Failure(ExitCode::failure, fmt::format("cannot write '{}'", path.string()));
}

/// Throws Failure unless the file has a certificate and its private key, as HAProxy wants them.
void check_certificate(const std::string& name) {
  std::ifstream file(name);
  if (!file) throw Failure(ExitCode::bad_input, fmt::format("cannot read '{}'", name));
  bool has_certificate = false, has_key = false;
  for (std::string line; std::getline(file, line);) {
    has_certificate |= line.starts_with("-----BEGIN CERTIFICATE");
    has_key |= line.starts_with("-----BEGIN") && line.find("PRIVATE KEY") != std::string::npos;
  }
  if (!has_certificate || !has_key) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("'{}' has no {}; join the key and the certificate in one file (cat key.pem "
                              "certificate.pem)",
                              name, has_certificate ? "private key" : "certificate"));
  }
}

/// Returns whether a file has a key reference. Keys of other kinds are the business of HAProxy.
bool has_reference(const std::string& name) {
  try {
    return rsa::KeyFile(name, rsa::Readers::anybody).is_reference();
  } catch (const std::runtime_error&) {
    return false;
  }
}

void set_up_tls(const SetupOptions& options) {
  check_certificate(options.certificate);
  if (options.engine_user.find_first_of(" \t\r\n#=$") != std::string::npos) {
    throw Failure(ExitCode::usage, fmt::format("'{}' is no name of a user", options.engine_user));
  }
  if ((options.is_plain || options.engine.empty()) && has_reference(options.certificate)) {
    throw Failure(ExitCode::usage,
                  fmt::format("'{}' has a reference, whose key only `penumbra tls-engine` has; give its socket with "
                              "'--engine', and no '--plain'",
                              options.certificate));
  }
  if (!options.is_plain && options.engine.empty() && !rsa::has_ifma()) {
    log_warning("tls: this CPU has no AVX512-IFMA, so the provider leaves every signature to OpenSSL");
  }
  const fs::path folder = options.output;
  fs::create_directories(folder);
  write_file(folder / "haproxy.cfg", haproxy_configuration(options));
  const std::string haproxy = fmt::format("haproxy -f {}", (folder / "haproxy.cfg").lexically_normal().string());
  if (options.is_plain) {
    write_output(fmt::format("{}\n", haproxy));
    return;
  }
  write_file(folder / "openssl.cnf", openssl_configuration(options));
  write_output(
      fmt::format("OPENSSL_CONF={} {}\n", (fs::absolute(folder) / "openssl.cnf").lexically_normal().string(), haproxy));
}

struct StatusOptions {
  std::string socket = rsa_engine::kDefaultSocket;
  bool json = false;
};

/// Asks the process of the engine for its counters, as lines of a name and a number.
std::string ask_counters(const std::string& path) {
  const FileDescriptor connection = connect_to(path);
  if (!connection) {
    throw Failure(ExitCode::no_connection,
                  fmt::format("no engine answers on {}: {}; start it with `penumbra tls-engine`", path,
                              std::generic_category().message(errno)));
  }
  std::array<std::uint8_t, rsa_engine::kMostMessage> room;
  rsa_engine::Message message{};
  constexpr int kPatience = 5000;  // milliseconds
  pollfd wait{connection.get(), POLLIN, 0};
  if (!rsa_engine::send_message(connection.get(), {rsa_engine::MessageKind::ask_counters, 0}) ||
      poll(&wait, 1, kPatience) != 1 ||
      rsa_engine::receive_message(connection.get(), room, message) != rsa_engine::Receipt::message ||
      message.head.kind != rsa_engine::MessageKind::counters) {
    throw Failure(ExitCode::failure, fmt::format("the engine on {} gives no counters", path));
  }
  return {message.rest.begin(), message.rest.end()};
}

void print_status(const StatusOptions& options) {
  std::istringstream lines(ask_counters(options.socket));
  nlohmann::ordered_json json;
  std::string text, name;
  for (std::uint64_t value = 0; lines >> name >> value;) {
    json[name] = value;
    text += fmt::format("{:<16} {}\n", name, value);
  }
  write_output(options.json ? json.dump(2) + "\n" : text);
}

void set_up_status(CLI::App& command) {
  const auto options = std::make_shared<StatusOptions>();
  CLI::App& status = *command.add_subcommand("status", "Print the counters of `penumbra tls-engine`");
  status.add_option("--socket", options->socket, "Unix socket of the engine")->type_name("PATH")->capture_default_str();
  add_json_flag(status, options->json);
  status.callback([options] { print_status(*options); });
}

void set_up_setup(CLI::App& command) {
  const auto options = std::make_shared<SetupOptions>();
  CLI::App& setup = *command.add_subcommand("setup", "Write a configuration of HAProxy that uses the provider");
  setup.add_option("--certificate", options->certificate, "PEM file with the certificate and its private key")
      ->type_name("FILE")
      ->required();
  setup.add_option("--output", options->output, "Folder of the files")->type_name("FOLDER")->capture_default_str();
  setup.add_option("--port", options->port, "TCP port of HAProxy")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  setup.add_option("--server", options->server, "Server to which requests go; without one HAProxy answers them itself")
      ->type_name("ADDRESS:PORT");
  setup.add_option("--haproxy-threads", options->haproxy_threads, "Threads of HAProxy")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  setup.add_option("--threads", options->threads, "Threads that compute signatures")
      ->type_name("N")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  CLI::Option* const engine =
      setup.add_option("--engine", options->engine, "Unix socket of `penumbra tls-engine` that computes signatures")
          ->type_name("PATH");
  setup.add_option("--engine-user", options->engine_user, "User of the engine, if the package did not start it")
      ->type_name("USER")
      ->needs(engine);
  setup.add_flag("--plain", options->is_plain, "Write the same configuration without the provider, for comparison");
  setup.footer("Prints the command that starts HAProxy. See docs/tls.md.");
  setup.callback([options] { set_up_tls(*options); });
}

void set_up_command(CLI::App& command) {
  command.require_subcommand(1);
  set_up_setup(command);
  set_up_reference(command);
  set_up_status(command);
}

const bool kTlsCommand = register_command(
    {"tls", "Configure HAProxy for RSA signatures in batches, write references to keys, and show counters",
     set_up_command});

}  // namespace
}  // namespace penumbra::cli
