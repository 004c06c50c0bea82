// The picture of a training: losses over steps as SVG.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sightline/data/metrics.hpp"

namespace sightline::data {

namespace {

constexpr double width = 720, height = 400, left = 74, right = 20, top = 44, bottom = 52;
constexpr std::size_t most_points = 400;

struct Stretch {
  double step = 0, mean = 0, low = 0, high = 0;
};

/// Means over stretches of equally many points; low and high keep what the mean hides.
std::vector<Stretch> summarise(const std::vector<CurvePoint>& points, std::optional<double> CurvePoint::*curve) {
  std::vector<std::pair<double, double>> present;
  for (const CurvePoint& point : points)
    if ((point.*curve) && std::isfinite(*(point.*curve)) && std::isfinite(point.step)) present.emplace_back(point.step, *(point.*curve));
  std::vector<Stretch> out;
  const std::size_t group = (present.size() + most_points - 1) / most_points;
  for (std::size_t begin = 0; begin < present.size(); begin += group) {
    const std::size_t end = std::min(begin + group, present.size());
    Stretch s{0, 0, present[begin].second, present[begin].second};
    for (std::size_t k = begin; k < end; ++k) {
      s.step += present[k].first;
      s.mean += present[k].second;
      s.low = std::min(s.low, present[k].second);
      s.high = std::max(s.high, present[k].second);
    }
    s.step /= static_cast<double>(end - begin);
    s.mean /= static_cast<double>(end - begin);
    out.push_back(s);
  }
  return out;
}

/// Vertical position of a value, and the marks beside it.
class Scale {
public:
  Scale(double low, double high) : logarithmic_(low > 0) {
    low_ = logarithmic_ ? std::log10(low) : low;
    high_ = logarithmic_ ? std::log10(high) : high;
    const double spare = std::max(0.04 * (high_ - low_), logarithmic_ ? 0.02 : 1e-3 * std::max(std::abs(low_), std::abs(high_)) + 1e-12);
    low_ -= spare;
    high_ += spare;
  }
  [[nodiscard]] double place(double value) const {
    const double at = logarithmic_ ? std::log10(std::max(value, 1e-307)) : value;
    return height - bottom - (at - low_) / (high_ - low_) * (height - top - bottom);
  }
  [[nodiscard]] bool logarithmic() const { return logarithmic_; }
  /// Powers of ten; with fewer than two of them 1, 2, 5 between, or plain even steps in a narrow range.
  [[nodiscard]] std::vector<double> marks() const {
    std::vector<double> out;
    if (logarithmic_ && high_ - low_ > 0.7) {
      const double span = std::floor(high_) - std::ceil(low_);
      const int stride = std::max(1, static_cast<int>(std::ceil(span / 8)));
      for (int power = static_cast<int>(std::floor(low_)); power <= static_cast<int>(std::ceil(high_)); ++power)
        for (const double digit : {1.0, 2.0, 5.0}) {
          const double at = power + std::log10(digit);
          if (at < low_ || at > high_ || at > 308 || (span >= 2 && (digit != 1 || power % stride != 0))) continue;
          out.push_back(std::pow(10.0, power) * digit);
        }
      return out;
    }
    const double from = logarithmic_ ? std::pow(10, low_) : low_, to = logarithmic_ ? std::pow(10, high_) : high_;
    const double raw = (to - from) / 5, unit = std::pow(10, std::floor(std::log10(raw)));
    const double step = unit * (raw / unit < 1.5 ? 1 : raw / unit < 3.5 ? 2 : raw / unit < 7.5 ? 5 : 10);
    for (double k = std::ceil(from / step); k <= std::floor(to / step); ++k) out.push_back(k * step);
    return out;
  }

private:
  bool logarithmic_;
  double low_ = 0, high_ = 1;
};

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

/// What fits in front of the legend; the whole title stands in <title>. Characters are code points, of nine units at most.
std::string shorten(std::string_view title, double room) {
  const auto most = static_cast<std::size_t>(room / 9);
  std::size_t characters = 0, cut = 0;
  for (std::size_t k = 0; k < title.size(); ++k) {
    if ((static_cast<unsigned char>(title[k]) & 0xC0U) == 0x80U) continue;
    if (++characters == most - 1) cut = k;
  }
  return characters <= most ? std::string(title) : std::string(title.substr(0, cut)) + "..";
}

std::string path(const std::vector<Stretch>& curve, double last_step, const Scale& scale, const char* colour) {
  const auto x = [&](double step) { return left + (last_step > 0 ? step / last_step : 0.5) * (width - left - right); };
  std::string line, band;
  bool wide = false;
  for (const Stretch& s : curve) {
    line += fmt::format("{:.1f},{:.1f} ", x(s.step), scale.place(s.mean));
    band += fmt::format("{:.1f},{:.1f} ", x(s.step), scale.place(s.high));
    wide = wide || s.high > s.low;
  }
  for (std::size_t k = curve.size(); k-- > 0;) band += fmt::format("{:.1f},{:.1f} ", x(curve[k].step), scale.place(curve[k].low));
  std::string out;
  if (wide) out += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.18\"/>\n", band, colour);
  if (curve.size() == 1) out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(curve[0].step), scale.place(curve[0].mean), colour);
  else if (!curve.empty()) out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n", line, colour);
  return out;
}

}  // namespace

std::string draw_curve(const std::vector<CurvePoint>& points, const std::string& title) {
  const std::vector<Stretch> training = summarise(points, &CurvePoint::training), validation = summarise(points, &CurvePoint::validation);
  double low = HUGE_VAL, high = -HUGE_VAL, last = 0;
  for (const auto* curve : {&training, &validation})
    for (const Stretch& s : *curve) {
      low = std::min(low, s.low);
      high = std::max(high, s.high);
      last = std::max(last, s.step);
    }
  const bool none = low > high;
  const Scale scale(none ? 0.1 : low, none ? 1 : high);
  const double legend = width - right - 190;
  std::string out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<title>{4}</title>\n"
                                "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n<text x=\"{2}\" y=\"26\" font-size=\"15\" fill=\"#222222\">{3}</text>\n",
                                width, height, left, escape(shorten(title, legend - left)), escape(title));
  const double end = width - right, base = height - bottom;
  for (const double mark : scale.marks()) {
    const double y = scale.place(mark);
    out += fmt::format("<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#dddddd\"/>\n<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#444444\">{5:.4g}</text>\n",
                       left, y, end, left - 8, y + 4, mark);
  }
  if (last > 0) {
    const double unit = std::pow(10, std::floor(std::log10(last / 5))), raw = last / 5 / unit;
    const double step = unit * (raw < 1.5 ? 1 : raw < 3.5 ? 2 : raw < 7.5 ? 5 : 10);
    for (double k = 0; k * step <= last * (1 + 1e-9); ++k) {
      const double x = left + k * step / last * (end - left);
      out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#888888\"/>\n<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#444444\">{4:.6g}</text>\n",
                         x, base, base + 5, base + 19, k * step);
    }
  }
  out += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#888888\"/>\n", left, top, base, end);
  out += path(training, last, scale, "#1b6ca8") + path(validation, last, scale, "#c8553d");
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#222222\">step</text>\n", (left + end) / 2, height - 12);
  out += fmt::format("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#222222\">{}</text>\n", (top + base) / 2,
                     scale.logarithmic() ? "loss (log scale)" : "loss");
  double x = legend;
  for (const auto& [curve, name, colour] : {std::tuple{&training, "training", "#1b6ca8"}, std::tuple{&validation, "validation", "#c8553d"}}) {
    if (curve->empty()) continue;
    out += fmt::format("<line x1=\"{0}\" y1=\"30\" x2=\"{1}\" y2=\"30\" stroke=\"{2}\" stroke-width=\"3\"/>\n<text x=\"{3}\" y=\"34\" fill=\"#222222\">{4}</text>\n", x, x + 18, colour, x + 24, name);
    x += 100;
  }
  return out + "</svg>\n";
}

}  // namespace sightline::data
