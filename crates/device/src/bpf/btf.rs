//! The kernel's type information (`Documentation/bpf/btf.rst`): numbers of its functions, places of members in its structures,
//! names of its enumerations. A module's information continues that of the kernel.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Type information.
#[derive(Debug)]
pub(crate) struct Btf {
    types: Vec<u8>,
    /// Where each type begins in `types`, from type 1 on.
    starts: Vec<u32>,
    names: Vec<u8>,
}

impl Btf {
    /// Reads that of the running kernel.
    ///
    /// # Errors
    /// The kernel has none, or it is not understood.
    pub(crate) fn of_kernel() -> Result<Self> {
        Self::of_files(&[&read("vmlinux")?]).ok_or_else(not_understood)
    }

    /// Reads that of the running kernel with one of its modules; without the module if it is part of the kernel or not loaded.
    ///
    /// # Errors
    /// As [`Btf::of_kernel`].
    pub(crate) fn with_module(module: &str) -> Result<Self> {
        let files = [read("vmlinux")?, read(module).unwrap_or_default()];
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).filter(|file| !file.is_empty()).collect();
        Self::of_files(&files).ok_or_else(not_understood)
    }

    /// Parses the kernel's file, and those of modules after it.
    pub(crate) fn of_files(files: &[&[u8]]) -> Option<Self> {
        let (mut types, mut names) = (Vec::new(), Vec::new());
        files.iter().try_for_each(|file| append(file, &mut types, &mut names))?;
        let (mut starts, mut at) = (Vec::new(), 0);
        while at < types.len() {
            starts.push(at as u32);
            let (kind, count) = kind(word(&types, at + 4)?);
            at += 12 + members(kind, count)?;
        }
        Some(Self { types, starts, names })
    }

    /// Number of the function `name`, for a call; `None` if this kernel has no function of this name that programs may call.
    pub(crate) fn function(&self, name: &str) -> Option<i32> {
        let found = self.find(name, FUNCTION)?;
        i32::try_from(found + 1).ok()
    }

    /// Number of the type of a tracepoint, to which a program is attached.
    pub(crate) fn tracepoint(&self, name: &str) -> Option<u32> {
        let found = self.find(&format!("btf_trace_{name}"), TYPEDEF)?;
        u32::try_from(found + 1).ok()
    }

    /// Bytes before a member of a structure, also one that is in nameless parts of it.
    pub(crate) fn member(&self, structure: &str, member: &str) -> Option<u32> {
        self.member_of(self.find(structure, STRUCTURE)?, member, &mut { MOST })
    }

    /// Bytes of a structure.
    pub(crate) fn size(&self, structure: &str) -> Option<u32> {
        word(&self.types, self.starts[self.find(structure, STRUCTURE)?] as usize + 8)
    }

    /// Values of an enumeration with their names.
    pub(crate) fn values(&self, enumeration: &str) -> Vec<(u32, String)> {
        let Some(start) = self.find(enumeration, ENUMERATION).map(|index| self.starts[index] as usize) else {
            return Vec::new();
        };
        let count = word(&self.types, start + 4).map_or(0, |info| kind(info).1);
        let value = |index: usize| {
            let at = start + 12 + 8 * index;
            let name = String::from_utf8_lossy(self.name(word(&self.types, at)?)?).into_owned();
            Some((word(&self.types, at + 4)?, name))
        };
        (0..count).filter_map(value).collect()
    }

    /// Index of the type of this name and kind.
    fn find(&self, name: &str, wanted: u32) -> Option<usize> {
        self.starts.iter().position(|start| {
            let at = *start as usize;
            let head = word(&self.types, at).zip(word(&self.types, at + 4));
            head.is_some_and(|(own, info)| {
                kind(info).0 == wanted && self.name(own).is_some_and(|own| own == name.as_bytes())
            })
        })
    }

    /// Looks at no more than `left` nameless parts.
    fn member_of(&self, index: usize, wanted: &str, left: &mut u32) -> Option<u32> {
        *left = left.checked_sub(1)?;
        let at = *self.starts.get(index)? as usize;
        let info = word(&self.types, at + 4)?;
        if !matches!(kind(info).0, STRUCTURE | UNION) {
            return None;
        }
        let has_fields = info >> 31 == 1;
        (0..kind(info).1).find_map(|member| {
            let at = at + 12 + 12 * member;
            let (name, inner) = (word(&self.types, at)?, word(&self.types, at + 4)?);
            let bits = word(&self.types, at + 8)?;
            let bytes = if has_fields { bits & 0xff_ffff } else { bits } / 8;
            match self.name(name)? {
                b"" => bytes.checked_add(self.member_of((inner as usize).checked_sub(1)?, wanted, left)?),
                name => (name == wanted.as_bytes()).then_some(bytes),
            }
        })
    }

    fn name(&self, at: u32) -> Option<&[u8]> {
        self.names.get(at as usize..)?.split(|byte| *byte == 0).next()
    }
}

fn read(name: &str) -> Result<Vec<u8>> {
    let path = Path::new("/sys/kernel/btf").join(name);
    std::fs::read(&path).map_err(|error| {
        let hint = "this kernel was built without type information (CONFIG_DEBUG_INFO_BTF)";
        match error.kind() {
            ErrorKind::NotFound => Error::new(ErrorKind::Unsupported, hint),
            kind => Error::new(kind, format!("{}: {error}", path.display())),
        }
    })
}

fn not_understood() -> Error {
    Error::new(ErrorKind::InvalidData, "/sys/kernel/btf: the type information is not understood")
}

/// Appends types and names of one file. Numbers in a module's file count from the kernel's first.
fn append(btf: &[u8], types: &mut Vec<u8>, names: &mut Vec<u8>) -> Option<()> {
    if btf.get(..2)? != MAGIC.to_ne_bytes() {
        return None;
    }
    let header = word(btf, 4)? as usize;
    let part = |offset: usize| -> Option<&[u8]> {
        let start = header.checked_add(word(btf, offset)? as usize)?;
        btf.get(start..start.checked_add(word(btf, offset + 4)? as usize)?)
    };
    types.extend(part(8)?);
    names.extend(part(16)?);
    Some(())
}

/// Kind of a type, and the number of its members.
const fn kind(info: u32) -> (u32, usize) {
    (info >> 24 & 0x1f, (info & 0xffff) as usize)
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
        STRUCTURE | UNION | 15 | 19 => Some(12 * count),
        // Values of an enumeration, parameters.
        ENUMERATION | 13 => Some(8 * count),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

const MAGIC: u16 = 0xeb9f;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ENUMERATION: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;
/// Most nameless parts that are looked at, so that a search ends.
const MOST: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[u8] = b"\0first\0second\0outer\0deep\0one\0two\0";
    const FIRST: u32 = 1;
    const SECOND: u32 = 7;
    const OUTER: u32 = 14;
    const DEEP: u32 = 20;
    const ONE: u32 = 25;
    const TWO: u32 = 29;

    fn file(types: &[u32], names: &[u8]) -> Vec<u8> {
        let mut btf = Vec::from(MAGIC.to_ne_bytes());
        btf.extend([1, 0]);
        for word in [24, 0, size_of_val(types) as u32, size_of_val(types) as u32, names.len() as u32] {
            btf.extend(u32::to_ne_bytes(word));
        }
        btf.extend(types.iter().flat_map(|word| word.to_ne_bytes()));
        btf.extend(names);
        btf
    }

    /// The integer `first`, a nameless enumeration, the function `second`, a nameless union with `deep`, and the structure `outer`
    /// that holds it behind 8 bytes.
    fn made() -> Vec<u8> {
        let types = [
            [FIRST, 1 << 24, 4, 32].as_slice(),
            &[0, 6 << 24 | 2, 4, ONE, 0, TWO, 7],
            &[SECOND, 12 << 24, 1],
            &[0, 5 << 24 | 1, 4, DEEP, 1, 16],
            &[OUTER, 4 << 24 | 2, 16, FIRST, 1, 0, 0, 4, 64],
        ]
        .concat();
        file(&types, NAMES)
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        let btf = Btf::of_files(&[&made()]).unwrap();
        assert_eq!(btf.function("second"), Some(3));
        for other in ["first", "sec", "econd", "third"] {
            assert_eq!(btf.function(other), None, "{other}");
        }
    }

    #[test]
    fn members_are_found_also_in_nameless_parts() {
        let btf = Btf::of_files(&[&made()]).unwrap();
        assert_eq!((btf.member("outer", "first"), btf.member("outer", "deep")), (Some(0), Some(10)));
        assert_eq!((btf.member("outer", "one"), btf.member("first", "deep")), (None, None));
        assert_eq!(btf.size("outer"), Some(16));
    }

    #[test]
    fn a_module_continues_the_kernels_numbers_and_names() {
        let at = NAMES.len() as u32;
        let types = [at, 6 << 24 | 2, 4, ONE, 1, at + 4, 2, at + 10, 4 << 24 | 1, 8, 0, 4, 32];
        let module = file(&types, b"own\0three\0modular\0");
        let btf = Btf::of_files(&[&made(), &module]).unwrap();
        assert_eq!(btf.values("own"), [(1, "one".into()), (2, "three".into())]);
        assert_eq!(btf.member("modular", "deep"), Some(6));
        assert!(btf.values("other").is_empty());
    }

    #[test]
    fn what_is_cut_off_is_not_understood() {
        let whole = made();
        for len in 0..whole.len() {
            assert!(Btf::of_files(&[&whole[..len]]).is_none(), "{len}");
        }
    }

    #[test]
    fn a_structure_within_itself_ends() {
        let types = [OUTER, 4 << 24 | 1, 8, 0, 1, 0];
        assert_eq!(Btf::of_files(&[&file(&types, NAMES)]).unwrap().member("outer", "deep"), None);
    }
}
