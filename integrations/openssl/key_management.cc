// SPDX-License-Identifier: Apache-2.0
//
// Management of RSA keys, delegated to OpenSSL's own keys.
#include <openssl/core_names.h>
#include <openssl/rsa.h>

#include <memory>
#include <new>

#include "provider.h"

namespace penumbra::tls {
namespace {

/// A key as OpenSSL's core knows it. An import fills it.
struct KeyHandle {
  Provider& provider;
  Key* key = nullptr;
};

EVP_PKEY* pkey_of(const void* handle) {
  const auto* const of = static_cast<const KeyHandle*>(handle);
  return of == nullptr || of->key == nullptr ? nullptr : of->key->pkey();
}

void* make(void* provider) {
  return new (std::nothrow) KeyHandle{*static_cast<Provider*>(provider)};
}

void free_key(void* handle) {
  const std::unique_ptr<KeyHandle> owned(static_cast<KeyHandle*>(handle));
  if (owned != nullptr && owned->key != nullptr) owned->key->release();
}

int set_pkey(KeyHandle& handle, EVP_PKEY* pkey) {
  Pkey owned(pkey);
  if (owned == nullptr) return 0;
  Key* const key = new (std::nothrow) Key(std::move(owned));
  if (key == nullptr) return 0;
  if (handle.key != nullptr) handle.key->release();
  handle.key = key;
  return 1;
}

int import_key(void* handle, int selection, const OSSL_PARAM params[]) {
  auto& of = *static_cast<KeyHandle*>(handle);
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(of.provider.library(), "RSA", nullptr));
  EVP_PKEY* pkey = nullptr;
  if (context == nullptr || EVP_PKEY_fromdata_init(context.get()) <= 0 ||
      EVP_PKEY_fromdata(context.get(), &pkey, selection, const_cast<OSSL_PARAM*>(params)) <= 0) {
    return 0;
  }
  return set_pkey(of, pkey);
}

int selection_of(int selection) {
  return (selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0 ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
}

int has(const void* handle, int selection) {
  if (pkey_of(handle) == nullptr) return 0;
  const bool wants_private = (selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0;
  return !wants_private || static_cast<const KeyHandle*>(handle)->key->has_private() ? 1 : 0;
}

int match(const void* one, const void* other, int) {
  EVP_PKEY *const a = pkey_of(one), *const b = pkey_of(other);
  return a != nullptr && b != nullptr && EVP_PKEY_eq(a, b) > 0 ? 1 : 0;
}

int export_key(void* handle, int selection, OSSL_CALLBACK* callback, void* argument) {
  if (has(handle, selection) == 0) return 0;
  OSSL_PARAM* params = nullptr;
  if (EVP_PKEY_todata(pkey_of(handle), selection_of(selection), &params) <= 0) return 0;
  const Parameters owned(params);
  return callback(params, argument);
}

void* duplicate(const void* handle, int selection) {
  EVP_PKEY* const pkey = pkey_of(handle);
  const auto* const from = static_cast<const KeyHandle*>(handle);
  std::unique_ptr<KeyHandle> copy(static_cast<KeyHandle*>(make(&from->provider)));
  if (copy == nullptr || pkey == nullptr) return copy.release();
  const bool wants_private = (selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0;
  if (wants_private || !from->key->has_private()) {
    // Keys never change, so that copies share one.
    copy->key = from->key;
    copy->key->refer();
    return copy.release();
  }
  OSSL_PARAM* params = nullptr;
  if (EVP_PKEY_todata(pkey, EVP_PKEY_PUBLIC_KEY, &params) <= 0) return nullptr;
  const Parameters owned(params);
  return import_key(copy.get(), EVP_PKEY_PUBLIC_KEY, params) == 1 ? copy.release() : nullptr;
}

int get_params(void* handle, OSSL_PARAM params[]) {
  EVP_PKEY* const pkey = pkey_of(handle);
  return pkey == nullptr ? 0 : EVP_PKEY_get_params(pkey, params);
}

int validate(const void* handle, int selection, int is_quick) {
  EVP_PKEY* const pkey = pkey_of(handle);
  if (pkey == nullptr) return 0;
  const PkeyContext context(
      EVP_PKEY_CTX_new_from_pkey(static_cast<const KeyHandle*>(handle)->provider.library(), pkey, nullptr));
  if (context == nullptr) return 0;
  if ((selection & OSSL_KEYMGMT_SELECT_KEYPAIR) == OSSL_KEYMGMT_SELECT_KEYPAIR) {
    return EVP_PKEY_check(context.get()) > 0 ? 1 : 0;
  }
  if ((selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0) return EVP_PKEY_private_check(context.get()) > 0 ? 1 : 0;
  if (is_quick != 0) return EVP_PKEY_public_check_quick(context.get()) > 0 ? 1 : 0;
  return EVP_PKEY_public_check(context.get()) > 0 ? 1 : 0;
}

/// Generation of a key.
struct Generation {
  Provider& provider;
  PkeyContext context;
};

int set_generation_params(void* generation, const OSSL_PARAM params[]) {
  return EVP_PKEY_CTX_set_params(static_cast<Generation*>(generation)->context.get(), params);
}

void* begin_generation(void* provider, int, const OSSL_PARAM params[]) {
  auto& of = *static_cast<Provider*>(provider);
  auto generation =
      std::make_unique<Generation>(of, PkeyContext(EVP_PKEY_CTX_new_from_name(of.library(), "RSA", nullptr)));
  if (generation->context == nullptr || EVP_PKEY_keygen_init(generation->context.get()) <= 0) return nullptr;
  if (params != nullptr && set_generation_params(generation.get(), params) != 1) return nullptr;
  return generation.release();
}

void* generate(void* generation, OSSL_CALLBACK*, void*) {
  auto& of = *static_cast<Generation*>(generation);
  EVP_PKEY* pkey = nullptr;
  if (EVP_PKEY_generate(of.context.get(), &pkey) <= 0) return nullptr;
  void* const handle = make(&of.provider);
  if (handle != nullptr && set_pkey(*static_cast<KeyHandle*>(handle), pkey) == 1) return handle;
  free_key(handle);
  return nullptr;
}

void end_generation(void* generation) {
  delete static_cast<Generation*>(generation);
}

const OSSL_PARAM* generation_params(void*, void*) {
  static const OSSL_PARAM kParams[] = {OSSL_PARAM_size_t(OSSL_PKEY_PARAM_RSA_BITS, nullptr),
                                       OSSL_PARAM_size_t(OSSL_PKEY_PARAM_RSA_PRIMES, nullptr),
                                       OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_E, nullptr, 0), OSSL_PARAM_END};
  return kParams;
}

const OSSL_PARAM* parts(int selection) {
#define PENUMBRA_PUBLIC \
  OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_N, nullptr, 0), OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_E, nullptr, 0)
#define PENUMBRA_PRIVATE(number)                                       \
  OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_FACTOR##number, nullptr, 0),       \
      OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_EXPONENT##number, nullptr, 0), \
      OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_COEFFICIENT##number, nullptr, 0)
  static const OSSL_PARAM kPublic[] = {PENUMBRA_PUBLIC, OSSL_PARAM_END};
  static const OSSL_PARAM kAll[] = {PENUMBRA_PUBLIC,
                                    OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_D, nullptr, 0),
                                    PENUMBRA_PRIVATE(1),
                                    PENUMBRA_PRIVATE(2),
                                    PENUMBRA_PRIVATE(3),
                                    PENUMBRA_PRIVATE(4),
                                    PENUMBRA_PRIVATE(5),
                                    PENUMBRA_PRIVATE(6),
                                    PENUMBRA_PRIVATE(7),
                                    PENUMBRA_PRIVATE(8),
                                    PENUMBRA_PRIVATE(9),
                                    OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_FACTOR10, nullptr, 0),
                                    OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_EXPONENT10, nullptr, 0),
                                    OSSL_PARAM_END};
#undef PENUMBRA_PRIVATE
#undef PENUMBRA_PUBLIC
  return (selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0 ? kAll : kPublic;
}

const OSSL_PARAM* gettable_params(void*) {
  static const OSSL_PARAM kParams[] = {OSSL_PARAM_int(OSSL_PKEY_PARAM_BITS, nullptr),
                                       OSSL_PARAM_int(OSSL_PKEY_PARAM_SECURITY_BITS, nullptr),
                                       OSSL_PARAM_int(OSSL_PKEY_PARAM_MAX_SIZE, nullptr),
                                       OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_DEFAULT_DIGEST, nullptr, 0),
                                       OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_N, nullptr, 0),
                                       OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_E, nullptr, 0),
                                       OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_D, nullptr, 0),
                                       OSSL_PARAM_END};
  return kParams;
}

}  // namespace

const OSSL_DISPATCH kKeyManagement[] = {entry(OSSL_FUNC_KEYMGMT_NEW, &make),
                                        entry(OSSL_FUNC_KEYMGMT_FREE, &free_key),
                                        entry(OSSL_FUNC_KEYMGMT_DUP, &duplicate),
                                        entry(OSSL_FUNC_KEYMGMT_HAS, &has),
                                        entry(OSSL_FUNC_KEYMGMT_MATCH, &match),
                                        entry(OSSL_FUNC_KEYMGMT_VALIDATE, &validate),
                                        entry(OSSL_FUNC_KEYMGMT_IMPORT, &import_key),
                                        entry(OSSL_FUNC_KEYMGMT_IMPORT_TYPES, &parts),
                                        entry(OSSL_FUNC_KEYMGMT_EXPORT, &export_key),
                                        entry(OSSL_FUNC_KEYMGMT_EXPORT_TYPES, &parts),
                                        entry(OSSL_FUNC_KEYMGMT_GET_PARAMS, &get_params),
                                        entry(OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS, &gettable_params),
                                        entry(OSSL_FUNC_KEYMGMT_GEN_INIT, &begin_generation),
                                        entry(OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS, &set_generation_params),
                                        entry(OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS, &generation_params),
                                        entry(OSSL_FUNC_KEYMGMT_GEN, &generate),
                                        entry(OSSL_FUNC_KEYMGMT_GEN_CLEANUP, &end_generation),
                                        {0, nullptr}};

Key* key_of(void* handle) {
  return handle == nullptr ? nullptr : static_cast<KeyHandle*>(handle)->key;
}

}  // namespace penumbra::tls
