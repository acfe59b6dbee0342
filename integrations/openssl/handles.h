// SPDX-License-Identifier: Apache-2.0
//
// Owners of objects of OpenSSL.
#pragma once

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <memory>

namespace penumbra::tls {

template <auto kFree>
struct FreeBy {
  template <class Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};

using Pkey = std::unique_ptr<EVP_PKEY, FreeBy<&EVP_PKEY_free>>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeBy<&EVP_PKEY_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD, FreeBy<&EVP_MD_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeBy<&EVP_MD_CTX_free>>;
using SecretNumber = std::unique_ptr<BIGNUM, FreeBy<&BN_clear_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, FreeBy<&OSSL_PARAM_free>>;

}  // namespace penumbra::tls
