// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/messages.h"

#include <fixbuf/public.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>

#include "penumbra/bytes.h"
#include "tables/flows/flow_key.h"

namespace penumbra::flows {
namespace {

enum : std::uint16_t { kIpv4Template = 256, kIpv6Template, kIcmpTemplate, kIcmpv6Template, kInternalTemplate };

/// Defines the internal format of a record. IPv6 addresses are in network byte order, all other fields in host byte
/// order. libfixbuf selects the elements of a template.
struct Record {
  std::uint64_t first, last, octets, packets;
  std::array<std::uint8_t, 16> source6, destination6;
  std::uint32_t source4, destination4;
  std::uint16_t source_port, destination_port, icmp_type, icmpv6_type, tcp_flags, vlan;
  std::uint8_t protocol, reason;
  std::array<std::uint8_t, 2> padding;
};
static_assert(sizeof(Record) == 88, "libfixbuf's elements follow one another");

/// Lists the templates that contain an element. The internal template has all elements.
enum : std::uint32_t { kIpv4 = 1, kIpv6 = 2, kPorts = 4, kType = 8, kType6 = 16, kInternal = 32 };

struct Element {
  const char* name;  ///< name in IANA's registry
  std::uint16_t bytes;
  std::uint32_t templates;  ///< 0: all templates
};
constexpr std::array<Element, 17> kElements{{{"flowStartMilliseconds", 8, 0},
                                             {"flowEndMilliseconds", 8, 0},
                                             {"octetDeltaCount", 8, 0},
                                             {"packetDeltaCount", 8, 0},
                                             {"sourceIPv6Address", 16, kIpv6},
                                             {"destinationIPv6Address", 16, kIpv6},
                                             {"sourceIPv4Address", 4, kIpv4},
                                             {"destinationIPv4Address", 4, kIpv4},
                                             {"sourceTransportPort", 2, kPorts},
                                             {"destinationTransportPort", 2, kPorts},
                                             {"icmpTypeCodeIPv4", 2, kType},
                                             {"icmpTypeCodeIPv6", 2, kType6},
                                             {"tcpControlBits", 2, kPorts},
                                             {"vlanId", 2, 0},
                                             {"protocolIdentifier", 1, 0},
                                             {"flowEndReason", 1, 0},
                                             {"paddingOctets", 2, kInternal}}};

/// Throws std::logic_error, because an error of libfixbuf is a bug of this file.
void require(bool done, GError* error) {
  if (done) return;
  const std::string message = error == nullptr ? "libfixbuf refuses" : error->message;
  g_clear_error(&error);
  throw std::logic_error(message);
}

void store_address(std::array<std::uint8_t, 16>& bytes, Ipv6Address address) {
  store(bytes.data(), __builtin_bswap64(address.high));
  store(bytes.data() + 8, __builtin_bswap64(address.low));
}

Record to_record(const ClosedFlow& closed, const Flow& flow) {
  Record record{.first = closed.first,
                .last = closed.last,
                .octets = closed.counts.bytes,
                .packets = closed.counts.packets,
                .source6 = {},
                .destination6 = {},
                .source4 = static_cast<std::uint32_t>(flow.source.low),
                .destination4 = static_cast<std::uint32_t>(flow.destination.low),
                .source_port = flow.source_port,
                .destination_port = flow.destination_port,
                .icmp_type = flow.destination_port,
                .icmpv6_type = flow.destination_port,
                .tcp_flags = closed.counts.tcp_flags,
                .vlan = flow.vlan,
                .protocol = flow.protocol,
                .reason = static_cast<std::uint8_t>(closed.reason),
                .padding = {}};
  store_address(record.source6, flow.source);
  store_address(record.destination6, flow.destination);
  return record;
}

std::uint16_t template_of(const Flow& flow) {
  if (flow.is_ipv6) return flow.protocol == ip_protocol::kIcmpv6 ? kIcmpv6Template : kIpv6Template;
  return flow.protocol == ip_protocol::kIcmp ? kIcmpTemplate : kIpv4Template;
}

}  // namespace

struct Messages::Fixbuf {
  fbInfoModel_t* model = nullptr;
  fbSession_t* session = nullptr;    ///< owned by the buffer
  fbExporter_t* exporter = nullptr;  ///< owned by the buffer
  fBuf_t* buffer = nullptr;
  std::array<std::uint8_t, kMostBytes> bytes{};
  bool empty = true;

  ~Fixbuf() {
    if (buffer != nullptr) fBufFree(buffer);
    if (model != nullptr) fbInfoModelFree(model);
  }
  bool append(Record& record, GError*& error) {
    if (fBufAppend(buffer, reinterpret_cast<std::uint8_t*>(&record), sizeof record, &error) == 0) return false;
    empty = false;
    return true;
  }
  void add_template(std::uint16_t number, std::uint32_t flags, bool internal) {
    GError* error = nullptr;
    fbTemplate_t* const made = fbTemplateAlloc(model);
    for (const Element& element : kElements) {
      std::string name = element.name;
      fbInfoElementSpec_t specification{name.data(), element.bytes, element.templates};
      require(fbTemplateAppendSpec(made, &specification, flags, &error) != 0, error);
    }
    require(fbSessionAddTemplate(session, internal ? TRUE : FALSE, number, made, &error) != 0, error);
  }
};

Messages::Messages(std::uint32_t observation_domain) : fixbuf_(std::make_unique<Fixbuf>()) {
  Fixbuf& fixbuf = *fixbuf_;
  fixbuf.model = fbInfoModelAlloc();
  fixbuf.session = fbSessionAlloc(fixbuf.model);
  fbSessionSetDomain(fixbuf.session, observation_domain);
  // The templates are added before the buffer exists, because libfixbuf would otherwise write them into the buffer.
  fixbuf.add_template(kInternalTemplate, ~std::uint32_t{0}, true);
  fixbuf.add_template(kIpv4Template, kIpv4 | kPorts, false);
  fixbuf.add_template(kIpv6Template, kIpv6 | kPorts, false);
  fixbuf.add_template(kIcmpTemplate, kIpv4 | kType, false);
  fixbuf.add_template(kIcmpv6Template, kIpv6 | kType6, false);
  fixbuf.exporter = fbExporterAllocBuffer(fixbuf.bytes.data(), fixbuf.bytes.size());
  fixbuf.buffer = fBufAllocForExport(fixbuf.session, fixbuf.exporter);
  fBufSetAutomaticMode(fixbuf.buffer, FALSE);
  GError* error = nullptr;
  require(fBufSetInternalTemplate(fixbuf.buffer, kInternalTemplate, &error) != 0, error);
}

Messages::~Messages() = default;

bool Messages::add(const ClosedFlow& closed) {
  const Flow flow = to_flow(closed.key);
  Record record = to_record(closed, flow);
  GError* error = nullptr;
  require(fBufSetExportTemplate(fixbuf_->buffer, template_of(flow), &error) != 0, error);
  if (fixbuf_->append(record, error)) return true;
  require(g_error_matches(error, FB_ERROR_DOMAIN, FB_ERROR_EOM) != 0, error);
  g_clear_error(&error);
  if (!fixbuf_->empty) return false;
  // After templates, libfixbuf requires a new message. Ending the empty message starts one.
  require(fBufEmit(fixbuf_->buffer, &error) != 0, error);
  require(fixbuf_->append(record, error), error);
  return true;
}

/// In automatic mode libfixbuf starts a message for the templates.
void Messages::add_templates() {
  GError* error = nullptr;
  fBufSetAutomaticMode(fixbuf_->buffer, TRUE);
  const bool done = fbSessionExportTemplates(fixbuf_->session, &error) != 0;
  fBufSetAutomaticMode(fixbuf_->buffer, FALSE);
  require(done, error);
  fixbuf_->empty = false;
}

std::span<const std::uint8_t> Messages::take() {
  if (fixbuf_->empty) return {};
  GError* error = nullptr;
  require(fBufEmit(fixbuf_->buffer, &error) != 0, error);
  fixbuf_->empty = true;
  return {fixbuf_->bytes.data(), fbExporterGetMsgLen(fixbuf_->exporter)};
}

}  // namespace penumbra::flows
