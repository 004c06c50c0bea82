#include "sightline/data/metrics.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <system_error>

#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/data/file_bytes.hpp"

namespace sightline::data {

namespace {

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Calls visit(line) for each complete line.
template <class Visit> void for_each_line(std::string_view text, const Visit& visit) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    visit(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

void append_bytes(const std::string& file, std::string_view bytes) {
  const auto refuse = [&] { throw InputError(fmt::format("{}: expected a file that can be written, found: {}", file, std::generic_category().message(errno))); };
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse();
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::close(descriptor);
      errno = error;
      refuse();
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(descriptor) != 0) refuse();
}

}  // namespace

MetricsFile::MetricsFile(std::string file, std::vector<std::string> columns, std::optional<std::uint64_t> keep_through)
    : file_(std::move(file)), columns_(std::move(columns)) {
  std::string text = fmt::format("{}\n", fmt::join(columns_, ","));
  if (keep_through) {
    const Budget unlimited;
    const FileBytes bytes(file_, unlimited);
    if (!bytes.view().starts_with(text))
      throw InputError(fmt::format("{}: expected the columns {}, found others", file_, fmt::join(columns_, ",")));
    for_each_line(bytes.view().substr(text.size()), [&](std::string_view line) {
      const std::optional<double> step = parse_number(line.substr(0, line.find(',')));
      if (step && *step <= static_cast<double>(*keep_through) && split_fields(line).size() == columns_.size()) (text += line) += '\n';
    });
  }
  write_file_atomically(file_, text);
}

void MetricsFile::append(std::uint64_t step, const std::vector<std::optional<double>>& values) {
  if (values.size() + 1 != columns_.size()) throw ArgumentError("MetricsFile::append: one value per column");
  std::string row = fmt::format("{}", step);
  for (const std::optional<double>& value : values) row += value ? fmt::format(",{}", *value) : ",";
  append_bytes(file_, row += '\n');
}

std::vector<CurvePoint> read_curve(const std::string& file, std::string_view training, std::string_view validation) {
  const Budget unlimited;
  const FileBytes bytes(file, unlimited);
  std::vector<std::string_view> names;
  std::vector<CurvePoint> points;
  const auto column = [&](const std::vector<std::string_view>& fields, std::string_view name) -> std::optional<double> {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? std::nullopt : parse_number(fields[static_cast<std::size_t>(at - names.begin())]);
  };
  for_each_line(bytes.view(), [&](std::string_view line) {
    const std::vector<std::string_view> fields = split_fields(line);
    if (names.empty()) {
      names = fields;
      return;
    }
    if (fields.size() != names.size()) return;
    const std::optional<double> step = parse_number(fields[0]);
    if (step) points.push_back({*step, column(fields, training), column(fields, validation)});
  });
  return points;
}

void write_curve(const std::string& file, const std::vector<CurvePoint>& points, const std::string& title) {
  write_file_atomically(file, draw_curve(points, title));
}

}  // namespace sightline::data
