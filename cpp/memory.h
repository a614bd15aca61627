// Blocks that live as long as the engine: fresh memory is zeros.
#pragma once

#include <cstddef>

namespace tabgrad {

// Null where there is no such memory. Blocks are aligned to 256 bytes.
std::byte* take_block(std::size_t n_bytes);

// Gives back every block; what WebAssembly took, its page drops with the module.
void give_back_blocks();

}  // namespace tabgrad
