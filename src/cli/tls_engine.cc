// SPDX-License-Identifier: Apache-2.0
//
// `penumbra tls-engine`.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "crypto/rsa/ifma.h"
#include "crypto/rsa_engine/measure.h"
#include "crypto/rsa_engine/message.h"
#include "crypto/rsa_engine/own_keys.h"
#include "crypto/rsa_engine/server.h"

namespace penumbra::cli {
namespace {

using rsa_engine::FormOnThread;

struct EngineOptions {
  std::string socket = rsa_engine::kDefaultSocket, group, keys, form = "auto";
  unsigned threads = 1;
};

constexpr std::array<std::size_t, rsa_engine::kSizes> kFromOne{1, 1, 1};

void add_on_cpu(std::vector<FormOnThread>& forms, const EngineOptions& options) {
  for (unsigned i = 0; i < options.threads; ++i) {
    forms.push_back({.form = options.form == "plain" ? rsa_engine::make_plain_form() : rsa_engine::make_ifma_form(),
                     .is_gpu = false,
                     .least = kFromOne});
  }
  log_info(fmt::format("tls-engine: {} on {} {}", forms.back().form->name(), options.threads,
                       options.threads == 1 ? "thread" : "threads"));
}

/// Adds the GPU for as many pending signatures as it computes sooner than the CPU's form, which is there already.
void add_measured_gpu(std::vector<FormOnThread>& forms, const EngineOptions& options) {
  std::unique_ptr<rsa_engine::BatchForm> gpu;
  auto least = kFromOne;
  try {
    gpu = rsa_engine::make_cuda_form();
    if (!forms.empty()) least = rsa_engine::measure_least(*gpu, *forms.front().form, options.threads);
  } catch (const std::runtime_error& error) {
    log_info(fmt::format("tls-engine: no GPU: {}", error.what()));
    return;
  }
  log_info(fmt::format("tls-engine: the GPU takes {}, {} and {} or more pending signatures of 2048, 3072 and 4096 bits",
                       least[0], least[1], least[2]));
  forms.push_back({.form = std::move(gpu), .is_gpu = true, .least = least});
}

std::vector<FormOnThread> make_forms(const EngineOptions& options) {
  std::vector<FormOnThread> forms;
  if (options.form == "ifma" && !rsa::has_ifma()) {
    throw Failure(ExitCode::failure, "this CPU has no AVX512-IFMA; leave '--form' out or take '--form cuda'");
  }
  if (options.form == "plain" || (options.form != "cuda" && rsa::has_ifma())) add_on_cpu(forms, options);
  if (options.form == "auto") add_measured_gpu(forms, options);
  if (options.form == "cuda") {
    forms.push_back({.form = rsa_engine::make_cuda_form(), .is_gpu = true, .least = kFromOne});
  }
  if (forms.empty()) {
    throw Failure(ExitCode::failure,
                  "this CPU has no AVX512-IFMA, and no GPU serves ('penumbra doctor'), so that OpenSSL's own code is "
                  "faster than any form; for a trial take '--form plain'");
  }
  return forms;
}

/// Reads the keys before the slow start of a GPU, so that a fault is seen at once.
rsa_engine::OwnKeys read_keys(const EngineOptions& options) {
  if (options.keys.empty()) return {};
  try {
    rsa_engine::OwnKeys keys(options.keys);
    log_info(fmt::format("tls-engine: {} {} of {}", keys.size(), keys.size() == 1 ? "key" : "keys", options.keys));
    return keys;
  } catch (const std::system_error&) {
    throw;  // of the operating system, and not of the files
  } catch (const std::runtime_error& error) {
    throw Failure(ExitCode::bad_input, fmt::format("--keys: {}", error.what()));
  }
}

void run_engine(const EngineOptions& options) {
  const Interruption interruption;
  forbid_dumps();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  rsa_engine::OwnKeys keys = read_keys(options);
  const std::filesystem::path socket = options.socket;
  if (socket.has_parent_path()) std::filesystem::create_directories(socket.parent_path());
  rsa_engine::Server server({.socket = socket, .group = options.group}, make_forms(options), std::move(keys));
  log_info(fmt::format("tls-engine: listening on {}", socket.string()));
  server.run(interruption.descriptor());
  log_info("tls-engine: ended");
}

void set_up_engine(CLI::App& command) {
  const auto options = std::make_shared<EngineOptions>();
  command.add_option("--socket", options->socket, "Unix socket to which the provider connects")
      ->type_name("PATH")
      ->capture_default_str();
  command.add_option("--group", options->group, "Group that may connect too, such as HAProxy's")->type_name("GROUP");
  command
      .add_option("--keys", options->keys,
                  "Folder of RSA keys in PEM, with which whoever may connect can sign and decrypt by references "
                  "(`penumbra tls reference`)")
      ->type_name("FOLDER");
  command
      .add_option(
          "--form", options->form,
          "Code that computes: by measurement at the start (auto), AVX512-IFMA, a GPU, or the slow plain source")
      ->type_name("FORM")
      ->check(CLI::IsMember({"auto", "ifma", "cuda", "plain"}))
      ->capture_default_str();
  command.add_option("--threads", options->threads, "Threads of the CPU that compute")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.footer(
      "Ends with SIGTERM. HAProxy then goes on without it, but with references all handshakes fail. See docs/tls.md.");
  command.callback([options] { run_engine(*options); });
}

const bool kEngineCommand = register_command(
    {"tls-engine", "Compute RSA signatures of many processes in batches, on the CPU or a GPU", set_up_engine});

}  // namespace
}  // namespace penumbra::cli
