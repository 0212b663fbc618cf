//! Heads of responses, as far as a client that suspects them reads them.

/// Longest head of a response.
pub(super) const MAX_HEAD: usize = 8 * 1024;

/// A head, and what follows it in the block in which it ends.
type Whole<'b> = (Vec<u8>, &'b [u8]);

/// The beginning of a head.
#[derive(Debug, Default)]
pub(super) struct Partial(Vec<u8>);

impl Partial {
    /// That much of it has come.
    pub(super) const fn new(seen: Vec<u8>) -> Self {
        Self(seen)
    }

    /// Whether nothing of it has come.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a block; the head is whole if it ends there.
    #[cold]
    pub(super) fn read<'b>(&mut self, block: &'b [u8]) -> Result<Option<Whole<'b>>, &'static str> {
        let before = self.0.len();
        self.0.extend_from_slice(&block[..block.len().min(MAX_HEAD + 1 - before)]);
        let Some(end) = self.0.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
            return if self.0.len() > MAX_HEAD { Err("has no end") } else { Ok(None) };
        };
        let mut head = std::mem::take(&mut self.0);
        head.truncate(end);
        Ok(Some((head, &block[end - before..])))
    }
}

/// Calls `each` with each field, its name in lower case; what is wrong with the head, if something is.
///
/// `begins` is what stands before the reason phrase and the space in front of that.
pub(super) fn check<'h>(
    head: &'h [u8],
    begins: &str,
    mut each: impl FnMut(&str, &'h str) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "is not text")?;
    let mut lines = text.trim_end_matches("\r\n\r\n").split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix(begins));
    if !status.is_some_and(|reason| reason.starts_with(' ') && !reason.contains(['\r', '\n'])) {
        return Err("has another status line");
    }
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("has a line without a colon")?;
        if name.is_empty() || name.contains(|c: char| !c.is_ascii_graphic()) || value.contains(['\r', '\n']) {
            return Err("has a line that is no field");
        }
        each(&name.to_ascii_lowercase(), value.trim_matches([' ', '\t']))?;
    }
    Ok(())
}
