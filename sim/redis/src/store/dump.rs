//! The payload of FUNCTION DUMP and FUNCTION RESTORE: libraries in the snapshot format, a
//! version and a checksum (`createDumpPayload` in `src/cluster.c`).

use bytes::{BufMut, Bytes, BytesMut};

use crate::store::rdb::{FUNCTION, Reader, VERSION, write_libraries};
use crate::wire::reply::Error;

/// Two bytes for the version, eight for the checksum.
const FOOTER_BYTES: usize = 10;

/// Dumps all libraries.
pub(crate) fn functions<'a>(libraries: impl Iterator<Item = &'a Bytes>) -> Bytes {
    let mut out = BytesMut::new();
    write_libraries(libraries, &mut out);
    out.put_u16_le(VERSION);
    out.put_u64_le(crc64(&out));
    out.freeze()
}

/// The texts of the libraries in a payload.
///
/// # Errors
///
/// If the payload is invalid, or holds anything but libraries.
pub(crate) fn codes(payload: &[u8]) -> Result<Vec<Bytes>, Error> {
    const DAMAGED: Error = Error::of("ERR DUMP payload version or checksum are wrong");
    let body_len = payload.len().checked_sub(FOOTER_BYTES).ok_or(DAMAGED)?;
    let (body, footer) = payload.split_at(body_len);
    let version = u16::from_le_bytes([footer[0], footer[1]]);
    let checksum = crc64(&payload[..body_len + 2]);
    if version > VERSION || footer[2..] != checksum.to_le_bytes() {
        return Err(DAMAGED);
    }
    let mut reader = Reader(body);
    let mut codes = Vec::new();
    while let Ok(kind) = reader.byte() {
        if kind != FUNCTION {
            return Err(Error::of("ERR given type is not a function"));
        }
        let code = reader.string();
        codes.push(code.map_err(|_| Error::of("ERR failed loading the given functions payload"))?);
    }
    Ok(codes)
}

/// The checksum of `src/crc64.c`: the Jones polynomial, reflected, initial value 0.
fn crc64(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    bytes.iter().fold(0, |mut crc, byte| {
        crc ^= u64::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1 == 1;
            crc >>= 1;
            if carry {
                crc ^= POLYNOMIAL;
            }
        }
        crc
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{codes, crc64, functions};

    #[test]
    fn the_checksum_is_that_of_redis() {
        // The check value of `src/crc64.c`.
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn dump_equals_redis_without_compression() {
        let code = b"#!lua name=one\nredis.register_function{function_name=\"o\",callback=\
            function(k) return 1 end,flags={\"no-writes\",\"allow-oom\",\"allow-stale\",\
            \"no-cluster\",\"allow-cross-slot-keys\",\"no-writes\"},description=\"reads\"}";
        // The payload of 7.0.15 with `rdbcompression no`.
        let expected = [b"\xf5@\xce", &code[..], b"\n\x00\x1e\xd9@\x8e\xad5?\x0e"].concat();
        let libraries = [Bytes::from_static(code)];
        assert_eq!(functions(libraries.iter()), expected);
        assert_eq!(codes(&expected), Ok(vec![code[..].to_vec().into()]));
        for len in 0..expected.len() {
            assert!(codes(&expected[..len]).is_err(), "{len} bytes");
        }
    }
}
