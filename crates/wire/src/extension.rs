//! Elements of RTP header extensions (RFC 8285): read in both forms, and written with one more among those that are there.

use alloc::vec::Vec;

/// First 16 bits of an extension of the one-byte form (RFC 8285 section 4.2).
pub const ONE_BYTE: u16 = 0xbede;
/// First 16 bits of an extension of the two-byte form, whose last 4 are the application's (RFC 8285 section 4.3).
pub const TWO_BYTES: u16 = 0x1000;
/// Bytes of an extension's own header: profile and length (RFC 3550 section 5.3.1).
pub const HEADER: usize = 4;

/// A header extension, unread (RFC 3550 section 5.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtpExtension<'a> {
    /// First 16 bits of the extension; [`ONE_BYTE`] and [`TWO_BYTES`] are those of RFC 8285.
    pub profile: u16,
    /// Content of the extension, after profile and length.
    pub data: &'a [u8],
}

impl<'a> RtpExtension<'a> {
    /// The content of the first element with this local identifier; none if the extension has neither form of RFC 8285, or ends
    /// before. Other elements are passed over (RFC 8285 section 4.2).
    pub fn element(&self, id: u8) -> Option<&'a [u8]> {
        Elements::of(self).find(|(other, _)| *other == id).map(|(_, content)| content)
    }
}

/// How the elements of an extension are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Identifiers 1 to 14 and contents of 1 to 16 bytes.
    OneByte,
    /// Identifiers 1 to 255 and contents of 0 to 255 bytes.
    TwoBytes,
}

impl Form {
    /// The form that the profile names, if it is one of RFC 8285.
    pub fn of(profile: u16) -> Option<Form> {
        match profile {
            ONE_BYTE => Some(Form::OneByte),
            profile if profile & 0xfff0 == TWO_BYTES => Some(Form::TwoBytes),
            _ => None,
        }
    }

    /// Whether such an element can be said.
    pub fn admits(self, id: u8, length: usize) -> bool {
        match self {
            Form::OneByte => (1..=14).contains(&id) && (1..=16).contains(&length),
            Form::TwoBytes => id > 0 && length <= 255,
        }
    }

    /// Bytes before the content of an element.
    fn head(self) -> usize {
        match self {
            Form::OneByte => 1,
            Form::TwoBytes => 2,
        }
    }

    /// Appends an element, which this form [admits](Form::admits); another is left out.
    pub fn push(self, id: u8, content: &[u8], out: &mut impl Extend<u8>) {
        if !self.admits(id, content.len()) {
            return;
        }
        match self {
            Form::OneByte => out.extend([id << 4 | (content.len() - 1) as u8]),
            Form::TwoBytes => out.extend([id, content.len() as u8]),
        }
        out.extend(content.iter().copied());
    }
}

/// The elements of an extension: identifier and content. Ends before the first that does not fit.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    form: Option<Form>,
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The elements of this extension; none if it has neither form of RFC 8285.
    pub fn of(extension: &RtpExtension<'a>) -> Elements<'a> {
        Elements { form: Form::of(extension.profile), rest: extension.data }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let form = self.form?;
        // A byte of zero is padding, in either form.
        while let [0, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let (id, length, after) = match (form, self.rest) {
            (Form::OneByte, [first, after @ ..]) => (first >> 4, usize::from(first & 0x0f) + 1, after),
            (Form::TwoBytes, [id, length, after @ ..]) => (*id, usize::from(*length), after),
            _ => return None,
        };
        // Identifier 15 of the one-byte form ends the extension (RFC 8285 section 4.2); 0 with a length is skipped.
        let content = after.get(..length).filter(|_| form == Form::TwoBytes || id != 15);
        let Some(content) = content else {
            self.rest = &[];
            return None;
        };
        self.rest = &after[length..];
        if id == 0 { self.next() } else { Some((id, content)) }
    }
}

/// Size, header in, of `extension` with one more element of `length` bytes in place of any under the same identifier; none if
/// its form cannot say it. Without an extension, of one of the one-byte form.
pub fn size_with(extension: Option<&RtpExtension<'_>>, id: u8, length: usize) -> Option<usize> {
    let Some(extension) = extension else {
        return Form::OneByte.admits(id, length).then_some(HEADER + (1 + length).next_multiple_of(4));
    };
    let form = Form::of(extension.profile)?;
    let others = Elements::of(extension).filter(|(other, _)| *other != id);
    let others: usize = others.map(|(_, content)| form.head() + content.len()).sum();
    form.admits(id, length).then_some(HEADER + (others + form.head() + length).next_multiple_of(4))
}

/// Appends an extension, its header in, filled up to whole words.
pub fn write(extension: &RtpExtension<'_>, out: &mut Vec<u8>) {
    let words = extension.data.len().div_ceil(4).min(u16::MAX.into());
    let data = extension.data.get(..words * 4).unwrap_or(extension.data);
    out.extend(extension.profile.to_be_bytes());
    out.extend((words as u16).to_be_bytes());
    out.extend_from_slice(data);
    out.resize(out.len() + words * 4 - data.len(), 0);
}

/// Appends `extension`, its header in, with one more element behind the others and in place of any under the same identifier.
/// Appends as many bytes as [`size_with`] says, nothing if it says none.
pub fn write_with(extension: Option<&RtpExtension<'_>>, id: u8, content: &[u8], out: &mut Vec<u8>) {
    let Some(size) = size_with(extension, id, content.len()) else { return };
    let profile = extension.map_or(ONE_BYTE, |extension| extension.profile);
    let form = Form::of(profile).unwrap_or(Form::OneByte);
    let start = out.len();
    out.extend(profile.to_be_bytes());
    out.extend(((size / 4 - 1) as u16).to_be_bytes());
    for (other, content) in extension.into_iter().flat_map(Elements::of).filter(|(other, _)| *other != id) {
        form.push(other, content, out);
    }
    form.push(id, content, out);
    out.resize(start + size, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtp;
    use alloc::vec;
    use proptest::prelude::*;

    fn read(profile: u16, data: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let elements = Elements::of(&RtpExtension { profile, data });
        elements.map(|(id, content)| (id, content.to_vec())).collect()
    }

    #[test]
    fn both_forms_by_hand() {
        // RFC 8285 sections 4.2 and 4.3: padding between, 15 ends, lengths less one and as they are.
        assert_eq!(read(ONE_BYTE, &[0, 0x11, 7, 8, 0, 0x20, 9]), [(1, vec![7, 8]), (2, vec![9])]);
        assert_eq!(read(ONE_BYTE, &[0x10, 7, 0xf0, 1, 0x20, 9]), [(1, vec![7])]);
        assert_eq!(read(ONE_BYTE, &[0x10, 7, 0x23, 9]), [(1, vec![7])], "the second is cut short");
        assert_eq!(read(0x100f, &[15, 0, 0, 200, 1, 5]), [(15, vec![]), (200, vec![5])]);
        assert_eq!(read(0x2000, &[0x10, 7]), []);
    }

    #[test]
    fn one_more_stands_behind_the_others_and_in_place_of_its_own() {
        let data = [0x50, 1, 0x10, 7];
        let extension = RtpExtension { profile: ONE_BYTE, data: &data };
        let mut out = vec![];
        write_with(Some(&extension), 5, &[0xab, 0xcd], &mut out);
        assert_eq!(out, [0xbe, 0xde, 0, 2, 0x10, 7, 0x51, 0xab, 0xcd, 0, 0, 0]);
        out.clear();
        write_with(None, 5, &[0xab, 0xcd], &mut out);
        assert_eq!(out, [0xbe, 0xde, 0, 1, 0x51, 0xab, 0xcd, 0]);
        assert_eq!(size_with(Some(&RtpExtension { profile: 7, data: &[] }), 5, 2), None, "of another form");
        assert_eq!(size_with(None, 15, 2), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_with_the_others(
            two in any::<bool>(), id in 1u8..15,
            others in prop::collection::vec((1u8..15, prop::collection::vec(any::<u8>(), 1..17)), 0..6),
            content in prop::collection::vec(any::<u8>(), 1..17),
        ) {
            let (profile, form) = if two { (TWO_BYTES | 3, Form::TwoBytes) } else { (ONE_BYTE, Form::OneByte) };
            let mut data = vec![];
            others.iter().for_each(|(id, content)| form.push(*id, content, &mut data));
            let extension = RtpExtension { profile, data: &data };
            let mut out = vec![];
            write_with(Some(&extension), id, &content, &mut out);
            prop_assert_eq!(Some(out.len()), size_with(Some(&extension), id, content.len()));
            let mut packet = vec![0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            packet.extend(&out);
            let view = rtp::decode(&packet).expect("sound");
            let mut expected: Vec<_> = others.into_iter().filter(|(other, _)| *other != id).collect();
            expected.push((id, content));
            let found = view.extension.expect("there is one");
            prop_assert_eq!(read(found.profile, found.data), expected);
            prop_assert!(view.payload.is_empty());
        }

        #[test]
        fn no_bytes_panic(profile in prop_oneof![Just(ONE_BYTE), Just(TWO_BYTES), any::<u16>()], data in prop::collection::vec(any::<u8>(), 0..60), id: u8) {
            let extension = RtpExtension { profile, data: &data };
            let total: usize = Elements::of(&extension).map(|(_, content)| content.len() + 1).sum();
            prop_assert!(total <= data.len());
            let mut out = vec![];
            write_with(Some(&extension), id, &[1, 2], &mut out);
            prop_assert_eq!(out.len(), size_with(Some(&extension), id, 2).unwrap_or(0));
        }
    }
}
