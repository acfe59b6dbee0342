// SPDX-License-Identifier: Apache-2.0
//
// One interface to all forms of the ciphers, for the tests that all forms must pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crypto/ipsec_mb/worker.h"
#include "crypto/key_material.h"
#include "crypto/plain.h"

namespace penumbra::crypto_testing {

/// A form of the ciphers with its own table of keys.
class Form {
 public:
  Form() = default;
  virtual ~Form() = default;
  Form(const Form&) = delete;
  Form& operator=(const Form&) = delete;

  /// Adds a key, and returns its number. Some forms keep the last 64 keys only.
  virtual std::uint32_t add(const KeyMaterial& material) = 0;
  virtual void seal(std::span<const cipher_packet> packets, std::uint8_t* are_done) = 0;
  virtual void open(std::span<const cipher_packet> packets, std::uint8_t* are_right) = 0;
};

class PlainForm final : public Form {
 public:
  std::uint32_t add(const KeyMaterial& material) override {
    expand(material, keys_.emplace_back());
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }
  void seal(std::span<const cipher_packet> packets, std::uint8_t* are_done) override {
    plain_seal(keys_, packets, are_done);
  }
  void open(std::span<const cipher_packet> packets, std::uint8_t* are_right) override {
    plain_open(keys_, packets, are_right);
  }

 private:
  std::vector<cipher_key> keys_;
};

class LibraryForm final : public Form {
 public:
  std::uint32_t add(const KeyMaterial& material) override {
    const std::uint32_t key = count_++ % kKeys;
    worker_.expand(material, keys_[key]);
    return key;
  }
  void seal(std::span<const cipher_packet> packets, std::uint8_t* are_done) override {
    worker_.seal(keys_.span(), packets, are_done);
  }
  void open(std::span<const cipher_packet> packets, std::uint8_t* are_right) override {
    worker_.open(keys_.span(), packets, are_right);
  }

 private:
  static constexpr std::uint32_t kKeys = 64;

  ipsec_mb::Worker worker_;
  SecretArray<ipsec_mb::Key> keys_{kKeys};
  std::uint32_t count_ = 0;
};

/// Returns the names of the forms.
inline const std::vector<std::string>& form_names() {
  static const std::vector<std::string> kNames{"plain", "ipsec_mb"};
  return kNames;
}

inline std::unique_ptr<Form> make_form(const std::string& name) {
  if (name == "plain") return std::make_unique<PlainForm>();
  return std::make_unique<LibraryForm>();
}

}  // namespace penumbra::crypto_testing
