// Normal numbers of docs/randomness.md: what fresh weights are drawn from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tabgrad {

class Part;

struct Normals {
  float* to;
  std::size_t n;
  std::uint32_t key[2];      // the seed, low word first
  std::uint32_t sub_stream;  // counter word 2
  std::uint32_t stream;      // counter word 3
  float std;
};

// to[i] = std * normal i of the stream, the product in float32.
void fill_normals(const Normals& a, Part& part);

}  // namespace tabgrad
