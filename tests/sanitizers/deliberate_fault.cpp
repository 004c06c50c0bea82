// Commits the fault it is asked for, so that a test can see the sanitizers catch it.
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  const std::string_view fault = argc > 1 ? argv[1] : "";
  volatile int beyond = argc + 30;
  if (fault == "heap") {
    std::vector<int> values(4, 1);
    return values.data()[beyond % 7 + 2];  // 31 % 7 + 2 = 5, or 6: beyond the four values
  }
  return 1 << (beyond + 10);
}
