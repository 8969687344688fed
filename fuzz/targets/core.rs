//! Quantities as text, as a stranger's scenario has them: what is read prints to the same value, and what is refused says what
//! is allowed.

use gamelane_core::quantity::KINDS;

/// A text of each kind: rate, time, size, limit, percentage.
pub(crate) fn quantity(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for kind in KINDS {
        match kind.read_with_unit(text) {
            Ok((value, unit)) => {
                assert!(kind.units().any(|known| known == unit));
                assert_eq!(kind.read(text), Ok(value));
                assert_eq!(kind.read(&kind.text(value).to_string()), Ok(value), "{text:?}");
                assert_eq!(kind.read_above_zero(text).is_ok(), value > 0);
            }
            Err(refused) => {
                assert!(!refused.allowed.is_empty(), "{text:?}");
                assert_eq!(kind.read(text), Err(refused));
            }
        }
    }
}
