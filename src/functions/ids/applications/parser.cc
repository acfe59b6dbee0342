// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/parser.h"

#include "functions/ids/applications/dns_parser.h"
#include "functions/ids/applications/http_parser.h"
#include "functions/ids/applications/ssh_parser.h"
#include "functions/ids/applications/tls_parser.h"

namespace penumbra::ids {

std::unique_ptr<ApplicationParser> make_parser(Application application, bool is_stream) {
  switch (application) {
    case Application::http:
      return std::make_unique<HttpParser>();
    case Application::dns:
      return std::make_unique<DnsParser>(is_stream);
    case Application::tls:
      return std::make_unique<TlsParser>();
    case Application::ssh:
      return std::make_unique<SshParser>();
    default:
      return nullptr;
  }
}

}  // namespace penumbra::ids
