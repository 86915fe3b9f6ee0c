//! Any bytes read as numbers, one after the other: what hostile tests and fuzz targets play.

/// The bytes, and how many were read; zeros when there are none left.
pub struct Script<'b> {
    pub bytes: &'b [u8],
    pub at: usize,
}

impl Script<'_> {
    pub fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    #[allow(dead_code, reason = "not every program reads words")]
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }
}
