//! What a hostile peer or file has for a parser. Every entry point of foreign bytes is tested with it.

/// A name, and the bytes.
type Input = (&'static str, Vec<u8>);

/// For what reads RESP: each violates it, nests too deep, or announces or has too much.
pub fn resp() -> Vec<Input> {
    vec![
        ("nested arrays", b"*1\r\n".repeat(200_000)),
        ("nested last elements", b"*2\r\n:1\r\n".repeat(100_000)),
        ("nested first elements", b"*2\r\n".repeat(200_000)),
        ("nested and closed", closed(100_000)),
        ("a billion elements", b"*1000000000\r\n".to_vec()),
        (
            "elements beyond 64 bits",
            b"*9999999999999999999\r\n".to_vec(),
        ),
        ("a negative number of elements", b"*-2\r\n".to_vec()),
        ("a string of 2 GB", b"$2147483647\r\nx".to_vec()),
        (
            "a string of 2 GB in an array",
            b"*1\r\n$2147483647\r\nx".to_vec(),
        ),
        ("a string of 8 EB", b"$9223372036854775807\r\nx".to_vec()),
        (
            "a line without end",
            [&b"+"[..], &[b'x'; 17 << 20]].concat(),
        ),
        ("garbage", vec![0xff; 100_000]),
    ]
}

/// For what reads EDN: each nests too deep.
pub fn edn() -> Vec<Input> {
    vec![
        ("nested vectors", b"[".repeat(200_000)),
        ("nested maps", b"{:a ".repeat(200_000)),
        ("nested sets", b"#{".repeat(200_000)),
        ("nested tags", b"#a ".repeat(200_000)),
        ("nested discards", b"#_".repeat(200_000)),
        ("discards in discarded vectors", b"#_[".repeat(200_000)),
        ("discards between tags", b"#a #_".repeat(200_000)),
        ("discards in maps", b"{:a #_".repeat(200_000)),
        (
            "nested arrays of JSON",
            [&b"[{\"a\":"[..], &b"[".repeat(200_000)].concat(),
        ),
        (
            "nested objects of JSON",
            [&b"[{\"a\":"[..], &b"{\"a\":".repeat(200_000)].concat(),
        ),
    ]
}

/// For what reads JSON, in lines or whole: each nests too deep.
pub fn json() -> Vec<Input> {
    let within = |before: &str, nested: &str| {
        let mut text = before.as_bytes().to_vec();
        text.extend(nested.repeat(200_000).bytes());
        text
    };
    vec![
        ("nested arrays", within("", "[")),
        ("nested objects", within("", "{\"a\":")),
        (
            "nested arrays in an unknown field",
            within("{\"unknown\":", "["),
        ),
        (
            "nested objects in an unknown field",
            within("{\"unknown\":", "{\"a\":"),
        ),
    ]
}

/// Arrays that nest so deep, and end.
fn closed(depth: usize) -> Vec<u8> {
    [b"*1\r\n".repeat(depth), b":1\r\n".to_vec()].concat()
}
