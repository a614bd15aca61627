// members: a call does the same on G sets of tensors, a set after the other.
//
// needs   G

var<private> member: u32; // the set that a thread is about

// Takes the number of a share of the whole work, of which each set has `shares`; returns its
// number in the set.
fn enter(share: u32, shares: u32) -> u32 {
  member = share / shares;
  return share % shares;
}
