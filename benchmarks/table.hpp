// The table of a benchmark: printed row by row, and written after every row, so that an interrupted run keeps what it has.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct Row {
  std::string name;              ///< "case"
  std::optional<double> figure;  ///< ours; nothing when it did not finish
  std::string unit;
  std::optional<double> peer;    ///< the better peer's figure in the same unit
  std::optional<double> ratio;   ///< figure / peer
  std::optional<std::string> goal;
  std::optional<bool> met;
  std::string remark;            ///< printed and written when there is something to say
};

class Table {
public:
  explicit Table(std::string file);
  void add(Row row);
  [[nodiscard]] bool all_correct() const { return correct_; }
  /// A wrong answer: the row misses its goal, and the program ends with 1.
  void mark_wrong() { correct_ = false; }
  void print_summary() const;

private:
  void write() const;
  std::string file_;
  std::vector<Row> rows_;
  bool correct_ = true;
};

/// Fills ratio and met for "at most `times` the better peer".
[[nodiscard]] Row compare(const std::string& name, std::optional<double> figure, std::optional<double> peer, double times);
/// Fills met for "at most `most` of the unit".
[[nodiscard]] Row limit(const std::string& name, std::optional<double> figure, const std::string& unit, std::optional<double> most);

}  // namespace bench
