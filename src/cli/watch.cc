// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/output.h"
#include "cli/rates.h"
#include "cli/render.h"

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Users read whole packets and bits per second.
json rounded(json rows) {
  for (auto& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (key.ends_with("_per_second") && value.is_number()) row[key] = std::llround(value.get<double>());
    }
  }
  return rows;
}

/// Returns text that overwrites the terminal: clears the rest of each line and of the screen.
std::string over_the_screen(const std::string& text) {
  std::string screen = "\x1b[H";
  for (const char letter : text) screen += letter == '\n' ? std::string("\x1b[K\n") : std::string(1, letter);
  return screen + "\x1b[J";
}

json ask_again(const RouterAddress& address, const std::string& topic, const std::vector<std::string>& arguments,
               bool answered_before) {
  try {
    return ask(address, "show", topic, arguments);
  } catch (const Failure& failure) {
    if (!answered_before || failure.code() != ExitCode::no_connection) throw;
    throw Failure(ExitCode::no_connection, fmt::format("the router has gone away: {}", failure.what()));
  }
}

}  // namespace

void watch(const RouterAddress& address, const std::string& topic, const std::vector<std::string>& arguments,
           double seconds) {
  const Interruption interruption;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const std::chrono::nanoseconds period(std::llround(seconds * 1e9));
  json before;
  Clock::time_point asked_before, next = Clock::now();
  if (terminal && !address.json) write_output("\x1b[2J");
  do {
    json now = ask_again(address, topic, arguments, !before.is_null());
    const Clock::time_point asked = Clock::now();
    const double elapsed = before.is_null() ? 0 : std::chrono::duration<double>(asked - asked_before).count();
    const json rows = with_rates(before, now, elapsed);
    if (address.json) {
      const json line{{"seconds", before.is_null() ? json() : json(elapsed)}, {"rows", rows}};
      write_output(line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    } else {
      const std::string table =
          rows.empty() ? "none\n" : render(rounded(rows), address.wide ? kUnlimitedWidth : kTableWidth);
      write_output(terminal ? over_the_screen(table) : table + "\n");
    }
    flush_output();
    before = std::move(now);
    asked_before = asked;
    next = std::max(next + period, asked);
  } while (!interruption.wait_for(next - Clock::now()));
}

}  // namespace penumbra::cli
