//! RESP within [`Bounds`].
//!
//! The decoder of `redis-protocol` recurses, and begins anew with each byte that arrives. So a `Scan`,
//! which does neither, passes over a frame first, and the decoder gets whole frames within their bounds.

use bytes::{Bytes, BytesMut};
use redis_protocol::resp2::decode::{decode, decode_bytes_mut};
use redis_protocol::resp2::types::{BytesFrame, OwnedFrame};

use crate::{Bounds, Refused};

/// What has arrived on a connection, and was not taken yet.
#[derive(Debug)]
pub struct Inbound {
    bounds: Bounds,
    bytes: BytesMut,
    scan: Scan,
}

impl Inbound {
    /// Nothing yet.
    pub fn new(bounds: Bounds) -> Self {
        Inbound {
            bounds,
            bytes: BytesMut::new(),
            scan: Scan::default(),
        }
    }

    /// The bytes, so that more can be appended.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.scan.begin();
    }

    /// Takes a complete frame, if there is one.
    ///
    /// # Errors
    ///
    /// If the bytes are no RESP, or exceed the bounds. Nothing can be taken after that.
    pub fn next_frame(&mut self) -> Result<Option<BytesFrame>, Refused> {
        if (self.scan.run(&self.bytes, self.bounds)?).is_none() {
            return Ok(None);
        }
        self.scan.begin();
        decoded(&mut self.bytes).map(Some)
    }

    /// Takes a complete request, an array of strings, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Inbound::next_frame`], or if a frame is no request.
    pub fn next_words(&mut self) -> Result<Option<Vec<Bytes>>, Refused> {
        self.next_frame()?.map(words).transpose()
    }
}

/// Removes a complete frame from the front of the buffer, if there is one. It begins anew with each
/// call; [`Inbound`] is for what arrives in pieces.
///
/// # Errors
///
/// If the bytes are no RESP, or exceed the bounds.
pub fn next_frame(bytes: &mut BytesMut, bounds: Bounds) -> Result<Option<BytesFrame>, Refused> {
    match length(bytes, bounds)? {
        None => Ok(None),
        Some(_) => decoded(bytes).map(Some),
    }
}

/// The first frame and its length, if it is complete.
///
/// # Errors
///
/// If the bytes are no RESP, or exceed the bounds.
pub fn first(bytes: &[u8], bounds: Bounds) -> Result<Option<(OwnedFrame, usize)>, Refused> {
    match length(bytes, bounds)? {
        None => Ok(None),
        Some(_) => decode(bytes).map_err(|_| Refused::Malformed),
    }
}

/// The length of the first frame, if it is complete.
///
/// # Errors
///
/// If the bytes are no RESP, or exceed the bounds.
pub fn length(bytes: &[u8], bounds: Bounds) -> Result<Option<usize>, Refused> {
    Scan::default().run(bytes, bounds)
}

/// The words of a request, an array of strings.
///
/// # Errors
///
/// If it is something else.
pub fn words(frame: BytesFrame) -> Result<Vec<Bytes>, Refused> {
    let BytesFrame::Array(items) = frame else {
        return Err(Refused::Malformed);
    };
    let words = items.into_iter().map(|item| match item {
        BytesFrame::BulkString(word) => Ok(word),
        _ => Err(Refused::Malformed),
    });
    words.collect()
}

/// Decodes a frame that is complete and within its bounds.
fn decoded(bytes: &mut BytesMut) -> Result<BytesFrame, Refused> {
    match decode_bytes_mut(bytes) {
        Ok(Some((frame, _, _))) => Ok(frame),
        Ok(None) | Err(_) => Err(Refused::Malformed),
    }
}

/// How far the first frame of a buffer was passed over. Each byte is looked at once, however many pieces
/// the frame arrives in.
#[derive(Debug, Default)]
struct Scan {
    /// Where the next item begins.
    at: usize,
    /// No line end is between the two.
    searched: usize,
    /// For each open array, how many of its elements have yet to begin.
    open: Vec<usize>,
    elements: usize,
}

impl Scan {
    /// Begins a frame. Keeps what is reserved.
    fn begin(&mut self) {
        (self.at, self.searched, self.elements) = (0, 0, 0);
        self.open.clear();
    }

    /// The length of the frame, if it is complete.
    fn run(&mut self, bytes: &[u8], bounds: Bounds) -> Result<Option<usize>, Refused> {
        while self.pass_item(bytes, bounds)? {
            if self.at > bounds.bytes {
                break;
            }
            while self.open.last() == Some(&0) {
                self.open.pop();
            }
            match self.open.last_mut() {
                Some(left) => *left -= 1,
                None => return Ok(Some(self.at)),
            }
        }
        match self.at.max(bytes.len()) > bounds.bytes {
            true => Err(Refused::Large(bounds.bytes)),
            false => Ok(None),
        }
    }

    /// Passes over a whole string, number or error, or over the beginning of an array. Returns whether it
    /// was there.
    fn pass_item(&mut self, bytes: &[u8], bounds: Bounds) -> Result<bool, Refused> {
        let Some(kind) = bytes.get(self.at) else {
            return Ok(false);
        };
        if !b"+-:$*".contains(kind) {
            return Err(Refused::Malformed);
        }
        let Some(end) = self.line_end(bytes) else {
            return Ok(false);
        };
        let line = &bytes[self.at + 1..end];
        let mut next = end + 2;
        match kind {
            b'$' => {
                if let Some(length) = announced(line)? {
                    if length > bounds.bytes {
                        return Err(Refused::Large(bounds.bytes));
                    }
                    next += length + 2;
                    if bytes.len() < next {
                        return Ok(false);
                    }
                }
            }
            b'*' => {
                let count = announced(line)?.unwrap_or(0);
                self.elements = self.elements.saturating_add(count);
                if self.elements > bounds.elements {
                    return Err(Refused::Many(bounds.elements));
                }
                if self.open.len() == bounds.depth {
                    return Err(Refused::Deep(bounds.depth));
                }
                self.open.push(count);
            }
            _ => {}
        }
        self.at = next;
        Ok(true)
    }

    /// Where the line of the next item ends.
    fn line_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let from = self.searched.max(self.at + 1);
        let rest = &bytes[from..];
        let end = (rest.iter().zip(rest.iter().skip(1))).position(|two| two == (&b'\r', &b'\n'));
        let end = end.map(|end| from + end);
        // The last byte may be half of an end.
        self.searched = end.unwrap_or(from.max(bytes.len() - 1));
        end
    }
}

/// A length or a count; `None` for no value.
fn announced(line: &[u8]) -> Result<Option<usize>, Refused> {
    if line == b"-1" {
        return Ok(None);
    }
    let number = line.iter().try_fold(0_usize, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        number.checked_mul(10)?.checked_add(digit.into())
    });
    match number {
        Some(_) if line.is_empty() => Err(Refused::Malformed),
        Some(number) => Ok(Some(number)),
        None => Err(Refused::Malformed),
    }
}

#[cfg(test)]
mod tests;
