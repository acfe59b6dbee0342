// SPDX-License-Identifier: Apache-2.0
//
// `penumbra tls reference`.
#include "cli/tls_reference.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file_descriptor.h"
#include "cli/command.h"
#include "cli/output.h"
#include "crypto/rsa/key_file.h"
#include "crypto/secret_memory.h"

namespace penumbra::cli {
namespace {

struct ReferenceOptions {
  std::string key, output = kStandardOutput;
};

/// Writes a file that does not exist yet, so that neither the key nor a link to it is overwritten. Leaves no part of a
/// file.
void write_new_file(const std::string& name, std::string_view text) {
  constexpr mode_t kReadableByAll = 0644;
  const FileDescriptor file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadableByAll));
  if (!file && errno == EEXIST) {
    throw Failure(ExitCode::usage, fmt::format("'{}' exists already; give another name, or remove it", name));
  }
  while (file && !text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (text.empty()) return;
  const int error = errno;
  if (file) unlink(name.c_str());
  throw Failure(ExitCode::failure,
                fmt::format("'{}' cannot be written: {}", name, std::generic_category().message(error)));
}

/// Returns a reference to the key of a file, with the file's certificates.
std::string reference_to(const std::string& name) {
  const rsa::KeyFile file(name, rsa::Readers::anybody);
  if (file.is_reference()) throw std::runtime_error(fmt::format("'{}' is a reference already; give the key", name));
  try {
    const SecretArray<rsa_key> expanded(1);
    rsa::expand(file.parts(), expanded.span()[0]);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("'{}' has a key that the engine does not take: {}", name, error.what()));
  }
  return rsa::write_reference(file.parts()) + file.certificates();
}

void write_reference(const ReferenceOptions& options) {
  forbid_dumps();
  std::string text;
  try {
    text = reference_to(options.key);
  } catch (const std::system_error&) {
    throw;  // of the operating system, and not of the file
  } catch (const std::runtime_error& error) {
    throw Failure(ExitCode::bad_input, error.what());
  }
  if (options.output == kStandardOutput) {
    write_output(text);
  } else {
    write_new_file(options.output, text);
  }
}

}  // namespace

void set_up_reference(CLI::App& command) {
  const auto options = std::make_shared<ReferenceOptions>();
  CLI::App& reference =
      *command.add_subcommand("reference", "Write a reference to a key that only `penumbra tls-engine` has");
  reference.add_option("KEY", options->key, "PEM file with the RSA key of 2048, 3072 or 4096 bits")
      ->type_name("FILE")
      ->required();
  reference.add_option("-o,--output", options->output, "New file; \"-\" is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  reference.footer(
      "A reference is a PEM file like a key, with the modulus and the public exponent and without any secret. It has "
      "the\ncertificates of FILE too. See docs/tls.md.");
  reference.callback([options] { write_reference(*options); });
}

}  // namespace penumbra::cli
