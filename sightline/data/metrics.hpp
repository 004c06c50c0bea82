// The course of a training: a CSV that grows row by row, and a picture of the losses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::data {

/// A CSV file whose first column is a step. Rows are appended and handed to the system one by one, so that a kill costs at
/// most the last of them.
class MetricsFile {
public:
  /// Starts the file with its header, or goes on with it: with `keep_through`, rows of later steps (written after the
  /// checkpoint that is resumed) and a torn last line are removed first, atomically.
  /// Throws InputError when the file cannot be written, or does not begin with these columns.
  MetricsFile(std::string file, std::vector<std::string> columns, std::optional<std::uint64_t> keep_through);

  /// One row; absent values are empty fields. Numbers as the shortest decimals that read back. Throws InputError (full disk)
  /// and ArgumentError for a wrong number of values.
  void append(std::uint64_t step, const std::vector<std::optional<double>>& values);

private:
  std::string file_;
  std::vector<std::string> columns_;
};

struct CurvePoint {
  double step = 0;
  std::optional<double> training, validation;
};

/// The points of a metrics file by the names of two columns; rows that cannot be read are left out.
[[nodiscard]] std::vector<CurvePoint> read_curve(const std::string& file, std::string_view training, std::string_view validation);

/// A drawing of the losses over steps, logarithmic upwards when all are positive, with axes, grid and a legend. Many points
/// are joined (at most 400 per curve, each the mean of its stretch; the raw range stays visible as a pale band).
[[nodiscard]] std::string draw_curve(const std::vector<CurvePoint>& points, const std::string& title);

/// draw_curve written atomically.
void write_curve(const std::string& file, const std::vector<CurvePoint>& points, const std::string& title);

}  // namespace sightline::data
