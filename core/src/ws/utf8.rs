//! UTF-8 that comes in pieces.

use core::str;

/// How far a text is known to be UTF-8, when its bytes stay where they are.
///
/// Fails at the first byte that cannot be; a code point may be cut at the end unless the text is complete.
pub(super) fn extend_valid(text: &[u8], valid: &mut usize, complete: bool) -> bool {
    let unchecked = &text[*valid..];
    if unchecked.is_ascii() {
        *valid = text.len();
        return true;
    }
    match simdutf8::compat::from_utf8(unchecked) {
        Ok(_) => *valid = text.len(),
        Err(error) if error.error_len().is_none() && !complete => *valid += error.valid_up_to(),
        Err(_) => return false,
    }
    true
}

/// The begin of a code point that a piece ended with, when its bytes are gone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utf8Cut {
    bytes: [u8; 4],
    len: u8,
}

impl Utf8Cut {
    /// Whether the text so far is complete.
    pub(super) const fn is_complete(&self) -> bool {
        self.len == 0
    }

    /// Takes the next piece.
    ///
    /// # Errors
    ///
    /// How many bytes of it come before the one that cannot be.
    pub(super) fn then(mut self, whole: &[u8]) -> Result<Self, usize> {
        let mut piece = whole;
        while self.len > 0 {
            let Some((&byte, rest)) = piece.split_first() else { return Ok(self) };
            let before = whole.len() - piece.len();
            piece = rest;
            self.bytes[usize::from(self.len)] = byte;
            self.len += 1;
            match str::from_utf8(&self.bytes[..usize::from(self.len)]) {
                Ok(_) => self.len = 0,
                // Four bytes are a code point or none.
                Err(error) if error.error_len().is_none() && self.len < 4 => {}
                Err(_) => return Err(before),
            }
        }
        let mut valid = 0;
        if !extend_valid(piece, &mut valid, false) {
            return Err(whole.len() - piece.len() + first_fault(piece));
        }
        let cut = &piece[valid..];
        self.bytes[..cut.len()].copy_from_slice(cut);
        self.len = cut.len() as u8;
        Ok(self)
    }
}

/// Where the first byte is that cannot be.
#[cold]
fn first_fault(text: &[u8]) -> usize {
    let Err(error) = str::from_utf8(text) else { return text.len() };
    let begin = error.valid_up_to();
    // A code point may be begun well.
    let can_be = |end: &usize| match str::from_utf8(text.get(begin..*end).unwrap_or_default()) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    (begin + 1..text.len()).take_while(can_be).last().unwrap_or(begin)
}
