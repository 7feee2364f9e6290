//! The font of a PDF: the letters that its texts use, by the numbers of their glyphs, and the file that
//! draws them.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Name, Pdf, Rect, Ref, Str};
use subsetter::GlyphRemapper;

use super::super::font;
use super::COMPRESSION;

/// The name of the font on the page.
pub(super) const NAME: Name<'_> = Name(b"letters");

/// The name in the file; six letters and a plus sign tell that the font is a part of one.
const FONT: Name<'_> = Name(b"LOCKLB+DejaVuSans");

/// Two bytes of a text are the number of a glyph.
const GLYPHS: SystemInfo<'_> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};

/// The letters that are used.
#[derive(Default)]
pub(super) struct Letters {
    /// The number of each glyph in the file.
    numbers: GlyphRemapper,
    /// By this number, the character and the width in thousandths of the size.
    used: BTreeMap<u16, (char, f32)>,
}

impl Letters {
    pub(super) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// The bytes that show a text.
    pub(super) fn encode(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (character, glyph, width) in font::glyphs(text) {
            let number = self.numbers.remap(glyph);
            self.used.insert(number, (character, width));
            bytes.extend(number.to_be_bytes());
        }
        bytes
    }

    /// Writes the font, unless no letter is used.
    pub(super) fn embed(&self, pdf: &mut Pdf, [font, glyphs, about, file, characters]: [Ref; 5]) {
        if self.is_empty() {
            return;
        }
        pdf.type0_font(font)
            .base_font(FONT)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(glyphs)
            .to_unicode(characters);
        let mut cid = pdf.cid_font(glyphs);
        cid.subtype(CidFontType::Type2)
            .base_font(FONT)
            .system_info(GLYPHS)
            .font_descriptor(about)
            .default_width(0.0)
            .cid_to_gid_map_predefined(Name(b"Identity"));
        let mut widths = cid.widths();
        for (number, (_, width)) in &self.used {
            widths.same(*number, *number, *width);
        }
        drop(widths);
        drop(cid);
        let (ascent, descent) = font::extents();
        pdf.font_descriptor(about)
            .name(FONT)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(-1000.0, descent, 2000.0, ascent))
            .italic_angle(0.0)
            .ascent(ascent)
            .descent(descent)
            .cap_height(ascent)
            .stem_v(80.0)
            .font_file2(file);
        let part = subsetter::subset(font::bytes(), 0, &self.numbers);
        let part = part.expect("the built-in font is a valid font");
        let packed = compress_to_vec_zlib(&part, COMPRESSION);
        let mut stream = pdf.stream(file, &packed);
        stream.filter(Filter::FlateDecode);
        stream.pair(Name(b"Length1"), part.len() as i32);
        drop(stream);
        let mut map = UnicodeCmap::<u16>::new(Name(b"Characters"), GLYPHS);
        for (number, (character, _)) in &self.used {
            map.pair(*number, *character);
        }
        pdf.cmap(characters, &map.finish());
    }
}
