/// Masks or unmasks bytes that start at `offset` in the payload (RFC 6455, section 5.3).
///
/// ```
/// use bytewise::ws::frame::apply_mask;
///
/// let mut bytes = *b"Hello";
/// apply_mask(&mut bytes, [0x37, 0xFA, 0x21, 0x3D], 0);
/// assert_eq!(bytes, [0x7F, 0x9F, 0x4D, 0x51, 0x58]);
/// apply_mask(&mut bytes[3..], [0x37, 0xFA, 0x21, 0x3D], 3); // from anywhere
/// assert_eq!(&bytes[3..], b"lo");
/// ```
#[inline]
pub fn apply_mask(bytes: &mut [u8], key: [u8; 4], offset: u64) {
    let mut key = key;
    key.rotate_left((offset % 4) as usize);
    if bytes.len() < ALIGNED_FROM { xor_all(bytes, key) } else { xor_aligned(bytes, key) }
}

/// From this length on it pays to begin at a multiple of 16 bytes in memory: else every fourth vector lies across two lines of
/// the cache.
const ALIGNED_FROM: usize = 2048;

#[inline(never)]
fn xor_aligned(bytes: &mut [u8], mut key: [u8; 4]) {
    let before = bytes.as_ptr().align_offset(16).min(bytes.len());
    let (first, rest) = bytes.split_at_mut(before);
    xor_all(first, key);
    key.rotate_left(before % 4);
    xor_all(rest, key);
}

#[inline]
fn xor_all(bytes: &mut [u8], key: [u8; 4]) {
    let words = [u32::from_ne_bytes(key); 8];
    let (blocks, rest) = bytes.as_chunks_mut();
    for block in blocks {
        xor::<32>(block, &words);
    }
    let rest = xor_first::<16>(rest, &words);
    let rest = xor_first::<8>(rest, &words);
    let rest = xor_first::<4>(rest, &words);
    for (byte, key) in rest.iter_mut().zip(key) {
        *byte ^= key;
    }
}

/// Copies a payload, and masks the copy on the way.
///
/// # Panics
///
/// If the lengths differ.
#[inline]
pub(super) fn copy_masked(to: &mut [u8], from: &[u8], key: [u8; 4]) {
    assert!(to.len() == from.len(), "a copy is as long");
    let words = [u32::from_ne_bytes(key); 8];
    match from.len() {
        0..4 => to.iter_mut().zip(from).zip(key).for_each(|((to, from), key)| *to = from ^ key),
        4..8 => copy_ends::<4>(to, from, &words),
        8..16 => copy_ends::<8>(to, from, &words),
        16..32 => copy_ends::<16>(to, from, &words),
        32..ALIGNED_FROM => copy_blocks(to, from, &words),
        _ => copy_aligned(to, from, key),
    }
}

/// As above. What lies before the blocks is written with some of theirs, and those come out the same.
#[inline(never)]
fn copy_aligned(to: &mut [u8], from: &[u8], mut key: [u8; 4]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<16>(), from.first_chunk()) {
        *to = xored(*from, &[u32::from_ne_bytes(key); 8]);
    }
    let before = to.as_ptr().align_offset(16).min(16);
    key.rotate_left(before % 4);
    copy_blocks(&mut to[before..], &from[before..], &[u32::from_ne_bytes(key); 8]);
}

#[inline(always)]
fn copy_blocks(to: &mut [u8], from: &[u8], words: &[u32; 8]) {
    let blocks = to[..from.len() - 1].as_chunks_mut::<32>().0;
    for (to, from) in blocks.iter_mut().zip(from.as_chunks().0) {
        *to = xored(*from, words);
    }
    copy_last::<32>(to, from, words);
}

/// Of no fewer than `N` bytes the first `N` and the last.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8], words: &[u32; 8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        *to = xored(*from, words);
    }
    copy_last::<N>(to, from, words);
}

/// The last `N` bytes. Those that are there already come out the same: that is quicker than to find out how many are not.
#[inline(always)]
fn copy_last<const N: usize>(to: &mut [u8], from: &[u8], words: &[u32; 8]) {
    let mut key = words[0].to_ne_bytes();
    key.rotate_left(from.len() % 4);
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        *to = xored(*from, &[u32::from_ne_bytes(key); 8]);
    }
}

/// XORs the first `N` bytes if there are so many; what is left.
#[inline(always)]
fn xor_first<'a, const N: usize>(bytes: &'a mut [u8], words: &[u32; 8]) -> &'a mut [u8] {
    if bytes.len() < N {
        return bytes;
    }
    let (first, rest) = bytes.split_at_mut(N);
    if let Some(first) = first.first_chunk_mut::<N>() {
        xor(first, words);
    }
    rest
}

/// One vector instruction or two, for the sizes it is used with.
#[inline(always)]
fn xor<const N: usize>(bytes: &mut [u8; N], words: &[u32; 8]) {
    for (word, key) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *word = (u32::from_ne_bytes(*word) ^ key).to_ne_bytes();
    }
}

#[inline(always)]
fn xored<const N: usize>(mut bytes: [u8; N], words: &[u32; 8]) -> [u8; N] {
    xor(&mut bytes, words);
    bytes
}
