// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/session_facts.h"

#include <string_view>
#include <variant>

namespace penumbra::ids {
namespace {

Buffer buffer_of(PropertyTest::Property property) {
  switch (property) {
    case PropertyTest::Property::tls_subject:
      return Buffer::tls_subject;
    case PropertyTest::Property::tls_issuer:
      return Buffer::tls_issuer;
    case PropertyTest::Property::tls_fingerprint:
      return Buffer::tls_fingerprint;
    case PropertyTest::Property::ssh_software:
      return Buffer::ssh_software;
    case PropertyTest::Property::ssh_protocol:
      return Buffer::ssh_protocol;
  }
  return Buffer::tls_subject;
}

}  // namespace

bool is_same(Application wanted, Application found) {
  if (wanted == Application::none || wanted == found) return true;
  return (wanted == Application::http && found == Application::http2) ||
         (wanted == Application::http1 && found == Application::http);
}

bool SessionFacts::matches(const PacketTest& test, const BufferTable& buffers) const {
  if (const auto* size = std::get_if<StreamSizeTest>(&test)) {
    const bool client = size->size.contains(sent[1]), server = size->size.contains(sent[0]);
    switch (size->side) {
      case StreamSizeTest::Side::client:
        return client;
      case StreamSizeTest::Side::server:
        return server;
      case StreamSizeTest::Side::both:
        return client && server;
      case StreamSizeTest::Side::either:
        return client || server;
    }
  }
  if (const auto* state = std::get_if<TlsStateTest>(&test)) {
    return tls_states != 0 && ((tls_states & state->states) != 0) != state->negated;
  }
  if (const auto* version = std::get_if<TlsVersionTest>(&test)) {
    return tls_version != 0 && ((tls_version & version->versions) != 0) != version->negated;
  }
  if (const auto* protocol = std::get_if<ApplicationTest>(&test)) {
    if (application == Application::none && !is_unknown) return false;
    const bool is_wanted = protocol->application == Application::none
                               ? is_unknown
                               : !is_unknown && is_same(protocol->application, application);
    return is_wanted != protocol->negated;
  }
  if (const auto* property = std::get_if<PropertyTest>(&test)) {
    const auto bytes = buffers.get(buffer_of(property->property));
    if (!bytes) return false;
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    return (text.find(property->value) != std::string_view::npos) != property->negated;
  }
  return false;
}

}  // namespace penumbra::ids
