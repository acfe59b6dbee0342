// SPDX-License-Identifier: Apache-2.0
//
// The members of events about flows, streams and applications, with Suricata's names. Each function returns JSON text
// without braces, which may be empty.
#pragma once

#include <string>
#include <string_view>

#include "functions/ids/applications/dns_message.h"
#include "functions/ids/applications/http_transaction.h"
#include "functions/ids/applications/tls_session.h"
#include "functions/ids/detect/stream_session.h"

namespace penumbra::ids {

std::string alert_members(Application application, const HttpTransaction* http);
std::string http_members(const HttpTransaction& transaction);
std::string dns_members(const DnsMessage& message);
std::string tls_members(const TlsSession& session);
std::string flow_members(const StreamSession& session);
std::string anomaly_members(std::string_view type, std::string_view event, Application application);

}  // namespace penumbra::ids
