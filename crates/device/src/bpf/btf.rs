//! Finds a kernel function by its name in the kernel's type information (`Documentation/bpf/btf.rst`).

/// Number of the function `name`, for a call; `None` if this kernel has no function of this name that programs may call, or no
/// type information.
pub(super) fn function(name: &str) -> Option<i32> {
    find(&std::fs::read("/sys/kernel/btf/vmlinux").ok()?, name)
}

/// Number of the function `name` in this type information.
pub(super) fn find(btf: &[u8], name: &str) -> Option<i32> {
    if btf.get(..2)? != MAGIC.to_ne_bytes() {
        return None;
    }
    let header = word(btf, 4)? as usize;
    let part = |offset: usize| -> Option<&[u8]> {
        let start = header.checked_add(word(btf, offset)? as usize)?;
        btf.get(start..start.checked_add(word(btf, offset + 4)? as usize)?)
    };
    let (mut types, names) = (part(8)?, part(16)?);
    let wanted = [name.as_bytes(), &[0]].concat();
    for number in 1.. {
        let (name, info) = (word(types, 0)? as usize, word(types, 4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        if kind == FUNCTION && names.get(name..).is_some_and(|rest| rest.starts_with(&wanted)) {
            return Some(number);
        }
        types = types.get(12 + members(kind, count)?..)?;
    }
    None
}

/// Bytes after the head of a type.
const fn members(kind: u32, count: usize) -> Option<usize> {
    match kind {
        // An integer, a variable, a declaration tag.
        1 | 14 | 17 => Some(4),
        // A pointer, forward declaration, typedef, qualifier, function, floating-point number, type tag.
        2 | 7..=12 | 16 | 18 => Some(0),
        // An array.
        3 => Some(12),
        // Members of a structure or union, variables of a section, long values of an enumeration.
        4 | 5 | 15 | 19 => Some(12 * count),
        // Values of an enumeration, parameters.
        6 | 13 => Some(8 * count),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

const MAGIC: u16 = 0xeb9f;
const FUNCTION: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer, an enumeration of two values, the function `second`.
    fn made() -> Vec<u8> {
        let names = b"\0first\0second\0";
        let types: [u32; 14] = [1, 1 << 24, 4, 32, 0, 6 << 24 | 2, 4, 1, 0, 1, 1, 7, 12 << 24, 1];
        let mut btf = Vec::from(MAGIC.to_ne_bytes());
        btf.extend([1, 0]);
        for word in [24, 0, size_of_val(&types) as u32, size_of_val(&types) as u32, names.len() as u32] {
            btf.extend(u32::to_ne_bytes(word));
        }
        btf.extend(types.into_iter().flat_map(u32::to_ne_bytes));
        btf.extend(names);
        btf
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        assert_eq!(find(&made(), "second"), Some(3));
        for other in ["first", "sec", "econd", "third"] {
            assert_eq!(find(&made(), other), None, "{other}");
        }
    }

    #[test]
    fn what_is_cut_off_has_no_functions() {
        let whole = made();
        for len in 0..whole.len() {
            assert_eq!(find(&whole[..len], "second"), None, "{len}");
        }
    }
}
