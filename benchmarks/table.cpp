#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace bench {

namespace {

std::string print_number(const std::optional<double>& value) {
  if (!value) return "-";
  if (*value == 0) return "0";
  return *value >= 100 ? fmt::format("{:.0f}", *value) : fmt::format("{:.3g}", *value);
}

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

}  // namespace

Table::Table(std::string file) : file_(std::move(file)) {
  fmt::print("{:<66} {:>9} {:<5} {:>9} {:>9}  {:<18} {}\n", "case", "figure", "unit", "peer", "ratio", "goal", "met");
}

void Table::add(Row row) {
  const std::string met = row.met ? (*row.met ? "yes" : "NO") : "-";
  fmt::print("{:<66} {:>9} {:<5} {:>9} {:>9}  {:<18} {}{}\n", row.name, print_number(row.figure), row.unit, print_number(row.peer), print_number(row.ratio),
             row.goal.value_or("-"), met, row.remark.empty() ? "" : "  (" + row.remark + ")");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
  write();
}

void Table::write() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json entry;
    entry["case"] = row.name;
    entry["figure"] = row.figure ? nlohmann::ordered_json(rounded(*row.figure)) : nlohmann::ordered_json(nullptr);
    entry["unit"] = row.unit;
    entry["peer"] = row.peer ? nlohmann::ordered_json(rounded(*row.peer)) : nlohmann::ordered_json(nullptr);
    entry["ratio"] = row.ratio ? nlohmann::ordered_json(rounded(*row.ratio)) : nlohmann::ordered_json(nullptr);
    entry["goal"] = row.goal ? nlohmann::ordered_json(*row.goal) : nlohmann::ordered_json(nullptr);
    entry["met"] = row.met ? nlohmann::ordered_json(*row.met) : nlohmann::ordered_json(nullptr);
    if (!row.remark.empty()) entry["remark"] = row.remark;
    list.push_back(std::move(entry));
  }
  const std::string half = file_ + ".part";
  {
    std::ofstream out(half, std::ios::trunc);
    out << list.dump(1) << '\n';
    if (!out) throw std::runtime_error("cannot write " + half);
  }
  if (std::rename(half.c_str(), file_.c_str()) != 0) throw std::runtime_error("cannot write " + file_);
}

void Table::print_summary() const {
  const auto with_goal = std::count_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.goal && r.met; });
  const auto met = std::count_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.met.value_or(false); });
  fmt::print("{} of {} goals met; {}\n", met, with_goal, file_);
}

Row compare(const std::string& name, std::optional<double> figure, std::optional<double> peer, double times) {
  Row row{name, figure, "s", peer, std::nullopt, fmt::format("<= {:g} x peer", times), std::nullopt, {}};
  if (figure && peer) {
    row.ratio = *figure / *peer;
    row.met = *row.ratio <= times;
  } else if (!figure) {
    row.met = false;
  } else {
    row.goal = std::nullopt;
    row.remark = "no peer fits";
  }
  return row;
}

Row limit(const std::string& name, std::optional<double> figure, const std::string& unit, std::optional<double> most) {
  Row row{name, figure, unit, std::nullopt, std::nullopt, std::nullopt, std::nullopt, {}};
  if (most) {
    row.goal = fmt::format("<= {:g} {}", *most, unit);
    row.met = figure && *figure <= *most;
  }
  return row;
}

}  // namespace bench
