// Small groups that keep blocks: molecules and their copies, grids, rings side by side, and what spoils them.
#pragma once

#include "brute.hpp"

namespace brute {

struct Generated {
  std::size_t n = 0;
  std::vector<Images> generators;  ///< none is the identity
};

/// @param blocks, size  points are named by block, then place, and then at random
inline Generated make_block_group(std::size_t blocks, std::size_t size, std::mt19937& random) {
  Generated made{blocks * size, {}};
  Images name = identity(made.n);
  std::shuffle(name.begin(), name.end(), random);
  const auto shuffled = [&](std::size_t count) {
    Images images = identity(count);
    switch (random() % 4) {
      case 0: std::shuffle(images.begin(), images.end(), random); break;
      case 1: std::rotate(images.begin(), images.begin() + 1, images.end()); break;
      case 2: std::reverse(images.begin(), images.end()); break;
      default: std::swap(images[random() % count], images[random() % count]);
    }
    return images;
  };
  const auto add = [&](const Images& to_block, const std::vector<Images>& inside) {
    Images images(made.n);
    for (std::size_t b = 0; b < blocks; ++b) {
      for (std::size_t k = 0; k < size; ++k) images[name[b * size + k]] = name[to_block[b] * size + inside[b][k]];
    }
    if (images != identity(made.n)) made.generators.push_back(images);
  };
  const std::vector<Images> still(blocks, identity(size));
  for (unsigned k = 1 + random() % 4; k > 0; --k) {
    std::vector<Images> inside = still;
    switch (random() % 5) {
      case 0:  // one block alone
        inside[random() % blocks] = shuffled(size);
        add(identity(blocks), inside);
        break;
      case 1:  // all blocks alike
        inside.assign(blocks, shuffled(size));
        add(identity(blocks), inside);
        break;
      case 2: add(shuffled(blocks), still); break;
      case 3:  // blocks change places, and are turned alike
        inside.assign(blocks, shuffled(size));
        add(shuffled(blocks), inside);
        break;
      default:  // anything that keeps blocks
        for (Images& own : inside) own = shuffled(size);
        add(shuffled(blocks), inside);
    }
  }
  return made;
}

/// Two blocks of three threes, 0 1 2 | 3 4 5 | 6 7 8: a block turns its threes together, all are mirrored at once (the second three of a block against the third).
inline Generated make_mirrored_threes() {
  Generated made{18, {}};
  const Images turn{1, 2, 0, 4, 5, 3, 7, 8, 6}, mirror{0, 2, 1, 6, 8, 7, 3, 5, 4};
  for (std::size_t block : {0, 9}) {
    Images images = identity(18);
    for (std::size_t k = 0; k < 9; ++k) images[block + k] = static_cast<unsigned>(block + turn[k]);
    made.generators.push_back(images);
  }
  Images all(18);
  for (std::size_t k = 0; k < 18; ++k) all[k] = static_cast<unsigned>(k / 9 * 9 + mirror[k % 9]);
  made.generators.push_back(all);
  return made;
}

}  // namespace brute
