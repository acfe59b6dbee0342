// SPDX-License-Identifier: Apache-2.0
//
// Signatures by RSA. A context of OpenSSL's provider `default` keeps all parameters and does what the engine does not.
#include <openssl/core_names.h>
#include <openssl/rsa.h>

#include <array>
#include <memory>
#include <new>
#include <string>

#include "encoding.h"
#include "provider.h"

namespace penumbra::tls {
namespace {

constexpr std::size_t kNameRoom = 64;  // of a digest's name

struct Signature {
  Provider& provider;
  Key* key = nullptr;
  PkeyContext delegate;  ///< Made by an initialisation; for the same operation.
  DigestContext digest;  ///< Of the message, for DigestSign and DigestVerify.
  bool is_finished = false;

  explicit Signature(Provider& of) : provider(of) {}
  ~Signature() {
    if (key != nullptr) key->release();
  }
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;
};

Signature& of(void* context) {
  return *static_cast<Signature*>(context);
}

void* make(void* provider, const char*) {
  return new (std::nothrow) Signature(*static_cast<Provider*>(provider));
}

void free_context(void* context) {
  delete static_cast<Signature*>(context);
}

void* duplicate(void* context) {
  const Signature& from = of(context);
  std::unique_ptr<Signature> copy(new (std::nothrow) Signature(from.provider));
  if (copy == nullptr) return nullptr;
  copy->key = from.key;
  if (copy->key != nullptr) copy->key->refer();
  copy->is_finished = from.is_finished;
  if (from.delegate != nullptr) {
    copy->delegate.reset(EVP_PKEY_CTX_dup(from.delegate.get()));
    if (copy->delegate == nullptr) return nullptr;
  }
  if (from.digest != nullptr) {
    copy->digest.reset(EVP_MD_CTX_new());
    if (copy->digest == nullptr || EVP_MD_CTX_copy_ex(copy->digest.get(), from.digest.get()) <= 0) return nullptr;
  }
  return copy.release();
}

using Begin = int(EVP_PKEY_CTX*, const OSSL_PARAM[]);

/// Begins an operation with a key, or with the key of the operation before.
int begin(Signature& signature, void* handle, const OSSL_PARAM params[], Begin* begin_delegate) {
  if (Key* const key = key_of(handle); key != nullptr) {
    key->refer();
    if (signature.key != nullptr) signature.key->release();
    signature.key = key;
  }
  if (signature.key == nullptr) return 0;
  signature.digest.reset();
  signature.is_finished = false;
  signature.delegate.reset(EVP_PKEY_CTX_new_from_pkey(signature.provider.library(), signature.key->pkey(), nullptr));
  return signature.delegate != nullptr && begin_delegate(signature.delegate.get(), params) > 0 ? 1 : 0;
}

int begin_sign(void* context, void* key, const OSSL_PARAM params[]) {
  return begin(of(context), key, params, &EVP_PKEY_sign_init_ex);
}
int begin_verify(void* context, void* key, const OSSL_PARAM params[]) {
  return begin(of(context), key, params, &EVP_PKEY_verify_init_ex);
}
int begin_recover(void* context, void* key, const OSSL_PARAM params[]) {
  return begin(of(context), key, params, &EVP_PKEY_verify_recover_init_ex);
}

int set_params(void* context, const OSSL_PARAM params[]) {
  EVP_PKEY_CTX* const delegate = of(context).delegate.get();
  return params == nullptr || (delegate != nullptr && EVP_PKEY_CTX_set_params(delegate, params) > 0) ? 1 : 0;
}

int get_params(void* context, OSSL_PARAM params[]) {
  EVP_PKEY_CTX* const delegate = of(context).delegate.get();
  return params == nullptr || (delegate != nullptr && EVP_PKEY_CTX_get_params(delegate, params) > 0) ? 1 : 0;
}

const OSSL_PARAM* settable_params(void*, void*) {
  static const OSSL_PARAM kParams[] = {OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PROPERTIES, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PAD_MODE, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_MGF1_DIGEST, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_MGF1_PROPERTIES, nullptr, 0),
                                       OSSL_PARAM_END};
  return kParams;
}

const OSSL_PARAM* gettable_params(void*, void*) {
  static const OSSL_PARAM kParams[] = {OSSL_PARAM_octet_string(OSSL_SIGNATURE_PARAM_ALGORITHM_ID, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PAD_MODE, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, nullptr, 0),
                                       OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_MGF1_DIGEST, nullptr, 0),
                                       OSSL_PARAM_END};
  return kParams;
}

/// Returns the digest that a parameter of the delegate names; null if it names none that OpenSSL has.
Digest digest_of(Signature& signature, const char* parameter) {
  std::array<char, kNameRoom> name{};
  OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(parameter, name.data(), name.size()),
                         OSSL_PARAM_construct_end()};
  if (EVP_PKEY_CTX_get_params(signature.delegate.get(), params) <= 0 || name[0] == 0) return nullptr;
  return Digest(EVP_MD_fetch(signature.provider.library(), name.data(), nullptr));
}

/// Encodes a value as the parameters of the delegate say. Returns false if the delegate shall do it, with its errors.
bool encode(Signature& signature, std::span<std::uint8_t> encoded, std::span<const std::uint8_t> value) {
  int padding = 0, salt_bytes = 0;
  EVP_PKEY_CTX* const delegate = signature.delegate.get();
  const Digest digest = digest_of(signature, OSSL_SIGNATURE_PARAM_DIGEST);
  if (EVP_PKEY_CTX_get_rsa_padding(delegate, &padding) <= 0) return false;
  if (digest != nullptr && value.size() != static_cast<std::size_t>(EVP_MD_get_size(digest.get()))) return false;
  if (padding == RSA_PKCS1_PADDING) return encode_pkcs1(encoded, digest.get(), value);
  if (padding != RSA_PKCS1_PSS_PADDING || digest == nullptr) return false;
  const Digest mask_digest = digest_of(signature, OSSL_SIGNATURE_PARAM_MGF1_DIGEST);
  return EVP_PKEY_CTX_get_rsa_pss_saltlen(delegate, &salt_bytes) > 0 &&
         encode_pss(signature.provider.library(), encoded, digest.get(),
                    mask_digest == nullptr ? digest.get() : mask_digest.get(), salt_bytes, value);
}

/// Signs in a batch. Returns false if the delegate shall sign.
bool sign_by_job(Signature& signature, std::span<const std::uint8_t> value, unsigned char* output) {
  Key& key = *signature.key;
  if (!signature.provider.is_in_job() || !signature.provider.has_batches() || !key.is_taken()) return false;
  std::array<std::uint8_t, kMostBytes> encoded;
  if (!encode(signature, std::span(encoded).first(key.bytes()), value)) return false;
  return signature.provider.run_by_job(key, encoded.data(), output);
}

/// Signs with a key reference by the engine. The delegate never does, and so cannot fail in a way of its own.
bool sign_by_reference(Signature& signature, std::span<const std::uint8_t> value, unsigned char* output,
                       std::size_t room) {
  Key& key = *signature.key;
  Provider& provider = signature.provider;
  std::array<std::uint8_t, kMostBytes> encoded;
  if (key.bytes() > encoded.size()) {
    raise_reference_error("the engine takes keys of 2048, 3072 and 4096 bits only");
    return false;
  }
  if (room < key.bytes()) {
    raise_reference_error("the signature is longer than the buffer of the application");
    return false;
  }
  if (!encode(signature, std::span(encoded).first(key.bytes()), value)) {
    raise_reference_error("the engine signs digests by PKCS #1 v1.5 and PSS only");
    return false;
  }
  return provider.is_in_job() ? provider.run_by_job(key, encoded.data(), output)
                              : provider.run_and_block(key, encoded.data(), output);
}

int sign(void* context, unsigned char* output, std::size_t* output_bytes, std::size_t room, const unsigned char* value,
         std::size_t value_bytes) {
  Signature& signature = of(context);
  if (signature.delegate == nullptr) return 0;
  if (output != nullptr && signature.key->is_reference()) {
    *output_bytes = signature.key->bytes();
    return sign_by_reference(signature, {value, value_bytes}, output, room) ? 1 : 0;
  }
  if (output != nullptr && room >= signature.key->bytes() && sign_by_job(signature, {value, value_bytes}, output)) {
    *output_bytes = signature.key->bytes();
    return 1;
  }
  *output_bytes = room;
  return EVP_PKEY_sign(signature.delegate.get(), output, output_bytes, value, value_bytes) > 0 ? 1 : 0;
}

int verify(void* context, const unsigned char* input, std::size_t input_bytes, const unsigned char* value,
           std::size_t value_bytes) {
  EVP_PKEY_CTX* const delegate = of(context).delegate.get();
  return delegate != nullptr && EVP_PKEY_verify(delegate, input, input_bytes, value, value_bytes) > 0 ? 1 : 0;
}

int recover(void* context, unsigned char* output, std::size_t* output_bytes, std::size_t room,
            const unsigned char* input, std::size_t input_bytes) {
  EVP_PKEY_CTX* const delegate = of(context).delegate.get();
  *output_bytes = room;
  return delegate != nullptr && EVP_PKEY_verify_recover(delegate, output, output_bytes, input, input_bytes) > 0 ? 1 : 0;
}

/// Begins the digest of a message. The delegate gets the digest's name first, since other parameters depend on it.
int begin_digest(Signature& signature, const char* name, void* key, const OSSL_PARAM params[], Begin* begin_delegate) {
  if (begin(signature, key, nullptr, begin_delegate) != 1) return 0;
  const std::string digest_name = name == nullptr || *name == 0 ? "SHA256" : name;
  const Digest digest(EVP_MD_fetch(signature.provider.library(), digest_name.c_str(), nullptr));
  OSSL_PARAM naming[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST, const_cast<char*>(digest_name.c_str()), 0),
      OSSL_PARAM_construct_end()};
  signature.digest.reset(EVP_MD_CTX_new());
  return digest != nullptr && signature.digest != nullptr &&
                 EVP_PKEY_CTX_set_params(signature.delegate.get(), naming) > 0 && set_params(&signature, params) == 1 &&
                 EVP_DigestInit_ex(signature.digest.get(), digest.get(), nullptr) > 0
             ? 1
             : 0;
}

int begin_digest_sign(void* context, const char* name, void* key, const OSSL_PARAM params[]) {
  return begin_digest(of(context), name, key, params, &EVP_PKEY_sign_init_ex);
}
int begin_digest_verify(void* context, const char* name, void* key, const OSSL_PARAM params[]) {
  return begin_digest(of(context), name, key, params, &EVP_PKEY_verify_init_ex);
}

int update(void* context, const unsigned char* data, std::size_t bytes) {
  EVP_MD_CTX* const digest = of(context).digest.get();
  return digest != nullptr && !of(context).is_finished ? EVP_DigestUpdate(digest, data, bytes) : 0;
}

/// Ends the digest of the message.
bool finish(Signature& signature, std::array<std::uint8_t, EVP_MAX_MD_SIZE>& value, unsigned& bytes) {
  if (signature.digest == nullptr || signature.is_finished) return false;
  signature.is_finished = true;
  return EVP_DigestFinal_ex(signature.digest.get(), value.data(), &bytes) > 0;
}

int end_digest_sign(void* context, unsigned char* output, std::size_t* output_bytes, std::size_t room) {
  Signature& signature = of(context);
  if (signature.digest == nullptr) return 0;
  if (output == nullptr) {
    *output_bytes = signature.key->bytes();
    return 1;
  }
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> value;
  unsigned bytes = 0;
  return finish(signature, value, bytes) ? sign(context, output, output_bytes, room, value.data(), bytes) : 0;
}

int end_digest_verify(void* context, const unsigned char* input, std::size_t input_bytes) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> value;
  unsigned bytes = 0;
  return finish(of(context), value, bytes) ? verify(context, input, input_bytes, value.data(), bytes) : 0;
}

}  // namespace

const OSSL_DISPATCH kSignature[] = {entry(OSSL_FUNC_SIGNATURE_NEWCTX, &make),
                                    entry(OSSL_FUNC_SIGNATURE_FREECTX, &free_context),
                                    entry(OSSL_FUNC_SIGNATURE_DUPCTX, &duplicate),
                                    entry(OSSL_FUNC_SIGNATURE_SIGN_INIT, &begin_sign),
                                    entry(OSSL_FUNC_SIGNATURE_SIGN, &sign),
                                    entry(OSSL_FUNC_SIGNATURE_VERIFY_INIT, &begin_verify),
                                    entry(OSSL_FUNC_SIGNATURE_VERIFY, &verify),
                                    entry(OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT, &begin_recover),
                                    entry(OSSL_FUNC_SIGNATURE_VERIFY_RECOVER, &recover),
                                    entry(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT, &begin_digest_sign),
                                    entry(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE, &update),
                                    entry(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL, &end_digest_sign),
                                    entry(OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT, &begin_digest_verify),
                                    entry(OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE, &update),
                                    entry(OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL, &end_digest_verify),
                                    entry(OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS, &get_params),
                                    entry(OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS, &gettable_params),
                                    entry(OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS, &set_params),
                                    entry(OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS, &settable_params),
                                    {0, nullptr}};

}  // namespace penumbra::tls
