use std::fmt::{Arguments, Write};

/// What happened, as a line of text: `[a frame] !AnError { at: 3 } `.
#[derive(Debug, Default)]
pub struct Log {
    text: String,
    /// Pieces of one body, joined: how a body is cut into pieces depends on the blocks.
    piece: Vec<u8>,
}

impl Log {
    /// An event.
    pub fn item(&mut self, item: Arguments<'_>) {
        self.end_of_pieces();
        write!(self.text, "{item} ").unwrap();
    }

    /// An event that is bytes: `[bytes]`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.item(format_args!("[{}]", shortened(bytes)));
    }

    /// A piece of a body: adjacent ones are written down as one.
    pub fn piece(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
    }

    fn end_of_pieces(&mut self) {
        if !self.piece.is_empty() {
            let piece = std::mem::take(&mut self.piece);
            write!(self.text, "{{{}}} ", shortened(&piece)).unwrap();
        }
    }

    #[track_caller]
    pub(super) fn ends_with(&self, item: Arguments<'_>) {
        assert!(self.text.ends_with(&format!("{item} ")), "{item} is not what was said first: {}", self.text);
    }

    /// All that was written down.
    pub fn into_text(mut self) -> String {
        self.end_of_pieces();
        self.text
    }
}

/// The bytes as text, `x*3000` where one is repeated often, and only both ends of what is still long.
pub(super) fn shortened(bytes: &[u8]) -> String {
    let mut text = String::new();
    for run in bytes.chunk_by(|a, b| a == b) {
        match run.len() {
            n @ 20.. => write!(text, "{}*{n}", run[..1].escape_ascii()).unwrap(),
            _ => write!(text, "{}", run.escape_ascii()).unwrap(),
        }
    }
    match text.len() {
        n @ 2000.. => format!("{}...{}({} bytes, sum {})", &text[..50], &text[n - 50..], bytes.len(), sum(bytes)),
        _ => text,
    }
}

/// FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}
