//! A folder of one process for sockets and captures, removed at the end.

use std::path::PathBuf;

pub struct Folder(PathBuf);

impl Folder {
    /// A new folder with a short path: that of a socket is at most 107 bytes.
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("paceline-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn socket(&self) -> PathBuf {
        self.file("exchange.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
