//! Requests on the wire: RESP multibulk and inline commands.
//!
//! Follows `processMultibulkBuffer` and `processInlineBuffer` of `src/networking.c` in what
//! it accepts, what it rejects, and how early it rejects it. (A general RESP decoder differs
//! from Redis in all three: it accepts frames that are not requests, and its error texts are
//! different.)

use std::borrow::Cow;
use std::ops::Range;

use crate::wire::number::parse_i64;
use crate::wire::reply::Error;

/// `PROTO_INLINE_MAX_SIZE`: the longest inline command or header line, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// `proto-max-bulk-len`: the longest argument, in bytes.
const MAX_BULK_BYTES: i64 = 512 * 1024 * 1024;
/// The most arguments a request may declare (`INT_MAX` in 7.0.15).
const MAX_ARGS: i64 = i32::MAX as i64;

/// The most arguments that a client may declare before it has authenticated.
const MAX_ARGS_BEFORE_AUTH: i64 = 10;
/// The longest argument that it may declare until then, in bytes.
const MAX_BULK_BYTES_BEFORE_AUTH: i64 = 16384;

/// Splits the bytes of a connection into requests. It resumes where it stopped: a request
/// that arrives in a thousand pieces is parsed once.
#[derive(Default)]
pub(crate) struct Parser {
    /// No request is complete before this many bytes have arrived, so parsing waits for them.
    needed: usize,
    /// The client has to authenticate first, so its requests have to be short.
    pub(crate) unauthenticated: bool,
    /// The multibulk request that was partly parsed.
    partial: Option<PartialRequest>,
}

/// The state of an incomplete multibulk request.
struct PartialRequest {
    /// The number of arguments it declared.
    count: i64,
    /// The ranges of the complete arguments in the query buffer, which begins with the
    /// request.
    args: Vec<Range<usize>>,
    /// The offset of the next argument.
    at: usize,
}

/// The kind of request at the start of the query buffer.
pub(crate) enum Parsed<'a> {
    /// A multibulk request of `len` bytes. It may be empty: `*0\r\n` is.
    Multibulk { args: Vec<&'a [u8]>, len: usize },
    /// An inline command of `len` bytes. It may be empty: `\r\n` is.
    Inline { args: Vec<Vec<u8>>, len: usize },
    /// An incomplete request.
    Incomplete,
    /// An invalid request; the connection ends with this error.
    Malformed(Error),
}

impl Parser {
    /// Reads the request at the start of `input`.
    pub(crate) fn next<'a>(&mut self, input: &'a [u8]) -> Parsed<'a> {
        if input.is_empty() || input.len() < self.needed {
            return Parsed::Incomplete;
        }
        self.needed = 0;
        let parsed = if let Some(partial) = self.partial.take() {
            self.resume(partial, input)
        } else if input[0] == b'*' {
            self.multibulk(input)
        } else {
            inline(input)
        };
        match parsed {
            Ok(parsed) => parsed.unwrap_or(Parsed::Incomplete),
            Err(refusal) => {
                Parsed::Malformed(Error::new([b"ERR Protocol error: ", &*refusal].concat()))
            }
        }
    }

    /// The memory of a partly parsed request, without its bytes.
    pub(crate) fn allocated_bytes(&self) -> usize {
        let args = self.partial.as_ref().map_or(0, |it| it.args.capacity());
        args * size_of::<Range<usize>>()
    }

    /// The bytes of an incomplete request that Redis would still keep: it drops those that it has
    /// parsed, up to the text of the incomplete argument.
    pub(crate) fn unread(&self, input: &[u8]) -> usize {
        let Some(partial) = &self.partial else {
            return input.len();
        };
        let start = match header(input, partial.at, b"") {
            Ok(Some((_, start))) => start,
            _ => partial.at,
        };
        input.len() - start
    }

    fn multibulk<'a>(&mut self, input: &'a [u8]) -> Result<Option<Parsed<'a>>, ParseError> {
        let Some((count, start)) = header(input, 0, b"too big mbulk count string")? else {
            return Ok(None);
        };
        let count = parse_i64(count)
            .filter(|count| *count <= MAX_ARGS)
            .ok_or(b"invalid multibulk length".as_slice())?;
        if self.unauthenticated && count > MAX_ARGS_BEFORE_AUTH {
            return Err(b"unauthenticated multibulk length".as_slice().into());
        }
        // The sender may declare any count, so little memory is reserved for it.
        let mut args = Vec::with_capacity(count.clamp(0, 64) as usize);
        let mut at = start;
        for _ in 0..count {
            let Some(arg) = self.bulk(input, at)? else {
                let partial = PartialRequest {
                    count,
                    args: Vec::new(),
                    at: start,
                };
                return self.resume(partial, input);
            };
            at = arg.end + 2;
            args.push(&input[arg]);
        }
        Ok(Some(Parsed::Multibulk { args, len: at }))
    }

    /// Continues to parse a request that was partly parsed.
    fn resume<'a>(
        &mut self,
        mut partial: PartialRequest,
        input: &'a [u8],
    ) -> Result<Option<Parsed<'a>>, ParseError> {
        while (partial.args.len() as i64) < partial.count {
            let Some(arg) = self.bulk(input, partial.at)? else {
                self.partial = Some(partial);
                return Ok(None);
            };
            partial.at = arg.end + 2;
            partial.args.push(arg);
        }
        let args = partial.args.into_iter().map(|arg| &input[arg]).collect();
        let len = partial.at;
        Ok(Some(Parsed::Multibulk { args, len }))
    }

    /// The range of the argument whose header is at `at`.
    fn bulk(&mut self, input: &[u8], at: usize) -> Result<Option<Range<usize>>, ParseError> {
        let Some((len, start)) = header(input, at, b"too big bulk count string")? else {
            return Ok(None);
        };
        if input[at] != b'$' {
            return Err([b"expected '$', got '", &input[at..=at], b"'"]
                .concat()
                .into());
        }
        let len = parse_i64(len)
            .filter(|len| (0..=MAX_BULK_BYTES).contains(len))
            .ok_or(b"invalid bulk length".as_slice())?;
        if self.unauthenticated && len > MAX_BULK_BYTES_BEFORE_AUTH {
            return Err(b"unauthenticated bulk length".as_slice().into());
        }
        let len = len as usize;
        let end = start + len;
        if input.len() < end + 2 {
            self.needed = end + 2;
            return Ok(None);
        }
        Ok(Some(start..end))
    }
}

/// The reason why a request is invalid.
type ParseError = Cow<'static, [u8]>;

/// The header line at `at`: the text between its type byte and `\r`, and the offset of the
/// next line. `None` while it is incomplete.
fn header<'a>(
    input: &'a [u8],
    at: usize,
    too_long: &'static [u8],
) -> Result<Option<(&'a [u8], usize)>, ParseError> {
    let line = &input[at..];
    match find(b'\r', line) {
        // The byte after `\r` must have arrived, but Redis does not check it.
        Some(end) if end + 1 < line.len() => Ok(Some((&line[end.min(1)..end], at + end + 2))),
        Some(_) => Ok(None),
        None if line.len() > MAX_LINE_BYTES => Err(too_long.into()),
        None => Ok(None),
    }
}

/// Searches a line like `strchr`, which Redis uses: a NUL ends the search.
fn find(wanted: u8, text: &[u8]) -> Option<usize> {
    let at = text.iter().position(|b| *b == wanted || *b == 0)?;
    (text[at] == wanted).then_some(at)
}

fn inline(input: &[u8]) -> Result<Option<Parsed<'_>>, ParseError> {
    let Some(end) = find(b'\n', input) else {
        if input.len() > MAX_LINE_BYTES {
            return Err(b"too big inline request".as_slice().into());
        }
        return Ok(None);
    };
    let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
    let args = split_args(line).ok_or(b"unbalanced quotes in request".as_slice())?;
    let len = end + 1;
    Ok(Some(Parsed::Inline { args, len }))
}

/// `sdssplitargs` of `src/sds.c`: words, `'single'` and `"double"` quotes, with escapes.
/// `None` if a quote is not closed, or not followed by a space.
pub(crate) fn split_args(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut args = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(args);
        }
        let mut arg = Vec::new();
        loop {
            match rest {
                [] => break,
                [b'"', tail @ ..] => {
                    rest = double_quoted(tail, &mut arg)?;
                    break;
                }
                [b'\'', tail @ ..] => {
                    rest = single_quoted(tail, &mut arg)?;
                    break;
                }
                [b, tail @ ..] => {
                    rest = tail;
                    if b.is_ascii_whitespace() {
                        break;
                    }
                    arg.push(*b);
                }
            }
        }
        args.push(arg);
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], arg: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'"', tail @ ..] => return after_quote(tail),
            [b'\\', b'x', high, low, tail @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                arg.push(hex_digit(*high) << 4 | hex_digit(*low));
                tail
            }
            [b'\\', escaped, tail @ ..] => {
                arg.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                tail
            }
            [b, tail @ ..] => {
                arg.push(*b);
                tail
            }
            [] => return None,
        };
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], arg: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'\'', tail @ ..] => return after_quote(tail),
            [b'\\', b'\'', tail @ ..] => {
                arg.push(b'\'');
                tail
            }
            [b, tail @ ..] => {
                arg.push(*b);
                tail
            }
            [] => return None,
        };
    }
}

fn after_quote(rest: &[u8]) -> Option<&[u8]> {
    rest.first()
        .is_none_or(u8::is_ascii_whitespace)
        .then_some(rest)
}

fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}
