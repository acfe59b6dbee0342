// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace penumbra::ids {

/// Appends the normal form of a request's URI to `normal`, as a tolerant server reads it:
/// - scheme, authority and fragment are left out;
/// - %HH and %uHHHH are decoded once; a wrong escape is kept;
/// - in the path, "\" is "/", slashes that follow each other are one, and dot segments are removed (RFC 3986, 5.2.4).
void normalize_uri(std::string_view uri, std::string& normal);

/// Returns the authority of an absolute URI, or an empty text.
std::string_view authority_of(std::string_view uri);

/// Appends the normal form of a host: without port, in small letters.
void normalize_host(std::string_view host, std::string& normal);

}  // namespace penumbra::ids
