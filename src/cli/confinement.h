// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra::cli {

/// Rights of a confined process to files that are not open yet.
enum class FileAccess : bool { none, read };

/// Gives up what a process does not need that only reads untrusted bytes: capabilities, privileges by execve(), and all
/// system calls but a few for memory, time, threads that run already, and open files. Others fail with EPERM. With
/// FileAccess::read, files may be opened for reading, also those of other users.
///
/// Seccomp binds all threads of the process, capabilities bind the calling thread and those that it starts: call this
/// before other threads start, or let them start without capabilities. Throws std::system_error.
void confine(FileAccess access);

/// Gives up the capabilities of the calling thread, but for those that `access` needs. Throws std::system_error.
void drop_capabilities(FileAccess access);

}  // namespace penumbra::cli
