//! What the fuzzer does with the bytes a load balancer may send before a client's own, and `crates/proxy/tests/corpus.rs` with
//! the stored corpus: nothing may panic, nothing longer than stated is waited for, and what is written is what is read.

use crate::proxy_header::{FIXED_LEN, MAX_LEN, client, whole_len, write};

/// A PROXY protocol v2 header, as the near proxy takes it: the fixed part, then as much as that says.
pub(crate) fn header(bytes: &[u8]) {
    let Some(fixed) = bytes.first_chunk::<FIXED_LEN>() else {
        assert_eq!(client(bytes), None);
        return;
    };
    let Some(len) = whole_len(fixed) else {
        assert_eq!(client(bytes), None);
        return;
    };
    assert!((FIXED_LEN..=MAX_LEN).contains(&len));
    let Some(header) = bytes.get(..len) else {
        assert_eq!(client(bytes), None, "cut off");
        return;
    };
    if bytes.len() > len {
        assert_eq!(client(bytes), None, "the client's own bytes are no part of it");
    }
    if let Some(Some(said)) = client(header) {
        let again = write(said, said);
        let read = client(&again).flatten().expect("ours is whole");
        assert_eq!((read.ip().to_canonical(), read.port()), (said.ip().to_canonical(), said.port()));
    }
}
