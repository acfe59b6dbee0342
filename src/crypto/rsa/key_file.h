// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <string>

#include "crypto/rsa/private_key.h"
#include "crypto/secret_memory.h"

namespace penumbra::rsa {

/// Who may read a file besides root.
enum class Readers { anybody, owner };

/// The private key of a PEM file. Its numbers are in locked memory.
class KeyFile {
 public:
  /// Reads a file with one private key of PKCS #1 or PKCS #8, also by a link. With Readers::owner, root or the user of
  /// the process must own the file, and nobody else may access it. `folder` is the open folder of the file; without it,
  /// the path is looked up. Throws std::runtime_error, with the file and without any secret, if the file has no such
  /// key; std::system_error if the operating system refuses the locked memory.
  KeyFile(const std::filesystem::path& file, Readers readers, int folder = AT_FDCWD);

  const KeyParts& parts() const { return key_.parts; }
  bool is_reference() const { return rsa::is_reference(key_.private_exponent); }
  /// Returns the certificates of the file, as PEM.
  const std::string& certificates() const { return certificates_; }

 private:
  SecretMemory der_;
  PrivateKey key_;
  std::string certificates_;
};

}  // namespace penumbra::rsa
