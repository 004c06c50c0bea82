#include <cmath>

#include "sightline/data/metrics.hpp"
#include "tests/unit/data/support.hpp"

using namespace sightline;
using namespace sightline::data;

TEST_CASE("rows are appended, and a resumed run forgets what came after its checkpoint") {
  const Folder folder;
  const std::string file = folder.file("metrics.csv");
  const std::vector<std::string> columns = {"step", "loss", "val_loss"};
  MetricsFile metrics(file, columns, std::nullopt);
  metrics.append(1, {0.1, std::nullopt});
  metrics.append(2, {1.0 / 3, 2.5});
  metrics.append(3, {1e-20, std::nullopt});
  CHECK(slurp(file) == "step,loss,val_loss\n1,0.1,\n2,0.3333333333333333,2.5\n3,1e-20,\n");
  CHECK_THROWS_AS(metrics.append(4, {1.0}), ArgumentError);
  std::ofstream(file, std::ios::app) << "4,0.5,1\n5,0.";  // killed while writing
  MetricsFile resumed(file, columns, 3);
  resumed.append(4, {7, 8});
  CHECK(slurp(file) == "step,loss,val_loss\n1,0.1,\n2,0.3333333333333333,2.5\n3,1e-20,\n4,7,8\n");
  MetricsFile(file, columns, 1).append(2, {1, 1});
  CHECK(slurp(file) == "step,loss,val_loss\n1,0.1,\n2,1,1\n");
  CHECK(error_of([&] { MetricsFile(file, {"step", "loss"}, 1); }).find("expected the columns step,loss, found others") != std::string::npos);
  const std::vector<CurvePoint> points = read_curve(file, "loss", "val_loss");
  REQUIRE(points.size() == 2);
  CHECK(points[0].training == 0.1);
  CHECK_FALSE(points[0].validation);
  CHECK(points[1].validation == 1);
  CHECK(error_of([&] { MetricsFile("/dev/full", columns, std::nullopt); }) == "/dev/full: expected a file that can be written, found: No space left on device");
}

TEST_CASE("the curve: both losses, axes, legend; few points for many steps") {
  std::vector<CurvePoint> points;
  for (int k = 1; k <= 20000; ++k) points.push_back({static_cast<double>(k), 1.0 / k, k % 100 == 0 ? std::optional(2.0 / k) : std::nullopt});
  const std::string svg = draw_curve(points, "a < b");
  CHECK(svg == draw_curve(points, "a < b"));
  CHECK(svg.size() < 60000);
  for (const char* part : {"<svg ", "a &lt; b", "training", "validation", "loss (log scale)", ">step<", ">0.001<", ">20000<", "</svg>"}) {
    CAPTURE(part);
    CHECK(svg.find(part) != std::string::npos);
  }
  CHECK(svg.find("nan") == std::string::npos);
  // A long title ends in front of the legend.
  const std::string long_title = draw_curve(points, std::string(60, 'x') + "yz");
  CHECK(long_title.find(std::string(60, 'x') + "yz</title>") != std::string::npos);
  CHECK(long_title.find(">" + std::string(46, 'x') + "..</text>") != std::string::npos);
  std::string greek;
  for (int k = 0; k < 60; ++k) greek += "\u03b1";
  CHECK(draw_curve(points, greek).find(">" + greek.substr(0, 2 * 46) + "..</text>") != std::string::npos);
  // Losses below zero (none of ours) have no logarithm; nothing, one point and non-finite values are drawn too.
  CHECK(draw_curve({{1, -1.0, {}}, {2, 1.0, {}}}, "").find("log scale") == std::string::npos);
  for (const std::vector<CurvePoint>& odd : {std::vector<CurvePoint>{}, {{0, 1.0, {}}}, {{1, NAN, HUGE_VAL}}, {{1, 1.0, 1.0}, {2, 1.0, 1.0}}, {{1, 0.0, {}}, {2, 0.0, {}}}, {{1, 1e-300, {}}, {2, 1e300, {}}}}) {
    const std::string drawn = draw_curve(odd, "t");
    CHECK(drawn.ends_with("</svg>\n"));
    CHECK(drawn.find("nan") == std::string::npos);
    CHECK(drawn.find("inf") == std::string::npos);
    CHECK(drawn.size() < 20000);
  }
}
