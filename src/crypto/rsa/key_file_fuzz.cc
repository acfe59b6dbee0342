// SPDX-License-Identifier: Apache-2.0
//
// Reads key files, and DER that begins with a SEQUENCE, without PEM. Whatever is read must be a key that is refused, or
// one whose reference is read again. No certificate may have a part of a private key.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "crypto/rsa/key_file.h"
#include "crypto/rsa/private_key.h"
#include "crypto/secret_memory.h"
#include "testing/fuzzing.h"

namespace {

using namespace penumbra;
using fuzzing::require;

/// Calls `check` with a file of a text.
template <class Check>
void with_file(std::string_view text, const Check& check) {
  const FileDescriptor file(memfd_create("fuzz", MFD_CLOEXEC));
  require(file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  check("/proc/self/fd/" + std::to_string(file.get()));
}

bool is_key(const rsa::KeyParts& parts) {
  try {
    const SecretArray<rsa_key> expanded(1);
    rsa::expand(parts, expanded.span()[0]);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void check_reference_to(const rsa::KeyParts& parts) {
  with_file(rsa::write_reference(parts), [&parts](const std::string& name) {
    const rsa::KeyFile reference(name, rsa::Readers::anybody);
    require(reference.is_reference() && !is_key(reference.parts()) && reference.certificates().empty());
    require(std::ranges::equal(reference.parts().modulus, parts.modulus));
    require(std::ranges::equal(reference.parts().public_exponent, parts.public_exponent));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint8_t kSequence = 0x30;
  const std::span<const std::uint8_t> input(data, size);
  if (size != 0 && data[0] == kSequence) {
    for (const bool is_pkcs8 : {false, true}) {
      try {
        const rsa::PrivateKey read = rsa::read_private_key(input, is_pkcs8);
        if (is_key(read.parts)) check_reference_to(read.parts);
      } catch (const std::invalid_argument&) {
      }
    }
  }
  with_file(fuzzing::text_of(data, size), [](const std::string& name) {
    try {
      const rsa::KeyFile read(name, rsa::Readers::anybody);
      require(read.certificates().find("PRIVATE KEY-----") == std::string::npos);
      if (is_key(read.parts())) check_reference_to(read.parts());
    } catch (const std::runtime_error&) {
    }
  });
  return 0;
}
