//! Frames within their bounds and beyond, whole and in pieces.

use locklab_testing::hostile;

use super::*;

const SMALL: Bounds = Bounds {
    depth: 3,
    bytes: 30,
    elements: 5,
};

/// Checks what becomes of these bytes, at once and byte by byte: the length of the first frame.
#[track_caller]
fn check(text: &str, expected: Result<Option<usize>, Refused>) {
    let bytes = text.as_bytes();
    assert_eq!(length(bytes, SMALL), expected, "{text:?}");
    let mut scan = Scan::default();
    let mut steps = (0..=bytes.len()).map(|end| scan.run(&bytes[..end], SMALL));
    let found = steps.find(|found| *found != Ok(None));
    assert_eq!(found.unwrap_or(Ok(None)), expected, "{text:?}, in pieces");
}

#[test]
fn whole_frame_has_the_length_that_the_decoder_finds() {
    for text in [
        "+OK\r\n",
        "+a\rb\r\n",
        "-ERR no\r\n",
        ":-7\r\n",
        "$0\r\n\r\n",
        "$2\r\n\r\n\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*2\r\n*0\r\n:1\r\n",
        "*2\r\n*2\r\n:1\r\n*0\r\n+x\r\n",
        "*1\r\n*1\r\n*1\r\n:1\r\n",
        "*3\r\n$-1\r\n*-1\r\n$1\r\na\r\n",
    ] {
        let decoded = decode(text.as_bytes()).unwrap().map(|(_, length)| length);
        assert_eq!(decoded, Some(text.len()), "{text:?}");
        check(&format!("{text}+more"), Ok(decoded));
        for end in 0..text.len() {
            check(&text[..end], Ok(None));
        }
    }
}

#[test]
fn frame_beyond_a_bound_is_refused_when_it_is_announced() {
    check("*1\r\n*1\r\n*1\r\n*1\r\n", Err(Refused::Deep(3)));
    check("*1\r\n*1\r\n*1\r\n*0\r\n", Err(Refused::Deep(3)));
    check("*6\r\n", Err(Refused::Many(5)));
    check("*3\r\n*3\r\n", Err(Refused::Many(5)));
    check("$31\r\n", Err(Refused::Large(30)));
    check(&format!("+{}", "x".repeat(30)), Err(Refused::Large(30)));
    check(&format!("${}\r\n", i64::MAX), Err(Refused::Large(30)));
    check("*9223372036854775807\r\n", Err(Refused::Many(5)));
}

#[test]
fn what_is_no_resp_is_malformed() {
    for text in [
        "x", "*1\r\nx", "$x\r\n", "*-2\r\n", "$-5\r\n", "*\r\n", "$1x\r\n",
    ] {
        check(text, Err(Refused::Malformed));
    }
}

#[test]
fn elements_are_counted_for_each_frame_alone() {
    let mut inbound = Inbound::new(SMALL);
    for _ in 0..3 {
        let request = b"*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n";
        inbound.buffer().extend_from_slice(request);
        let frame = inbound.next_frame();
        assert!(
            matches!(&frame, Ok(Some(BytesFrame::Array(items))) if items.len() == 5),
            "{frame:?}"
        );
    }
}

#[test]
fn hostile_input_is_refused_whole_and_in_pieces() {
    for (name, bytes) in hostile::resp() {
        assert!(length(&bytes, Bounds::FRAME).is_err(), "{name}");
        let mut inbound = Inbound::new(Bounds::FRAME);
        let mut pieces = bytes.chunks(4096);
        let is_refused = pieces.any(|piece| {
            inbound.buffer().extend_from_slice(piece);
            inbound.next_frame().is_err()
        });
        assert!(is_refused, "{name}");
    }
}
