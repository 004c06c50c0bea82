// Files that are written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace sightline {

/// Writes a file whole or not at all: temporary file in the same folder, fsync, rename, fsync of the folder. An existing file
/// keeps its permissions; a symbolic link keeps pointing; pipes and devices are written to directly. On failure nothing is
/// left behind; what a killed process left in the folder is removed (a lock on the temporary file tells the dead from the
/// living). Throws InputError `FILE: expected a file that can be written, found: <the system's reason>`.
void write_file_atomically(const std::string& file, std::string_view bytes);

/// Called before every system call of the write phase, with its name; nullptr: nothing. For tests that kill the process there.
extern void (*before_write_step)(const char* step);

}  // namespace sightline
