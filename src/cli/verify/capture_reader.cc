// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/capture_reader.h"

#include <pcap/pcap.h>

#include <array>
#include <memory>

#include "penumbra/errors.h"

namespace penumbra::cli::verify {

void read_capture(const std::filesystem::path& file,
                  const std::function<void(std::uint32_t number, Frame frame)>& visit) {
  std::array<char, PCAP_ERRBUF_SIZE> reason{};
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> capture(pcap_open_offline(file.c_str(), reason.data()),
                                                               pcap_close);
  if (capture == nullptr) throw InputError({file.string()}, reason.data());
  if (pcap_datalink(capture.get()) != DLT_EN10MB)
    throw InputError({file.string()}, "a capture of another link than Ethernet");
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  std::uint32_t number = 0;
  int result = 0;
  while ((result = pcap_next_ex(capture.get(), &header, &bytes)) == 1) visit(++number, {bytes, header->caplen});
  if (result == PCAP_ERROR) throw InputError({file.string()}, pcap_geterr(capture.get()));
}

}  // namespace penumbra::cli::verify
