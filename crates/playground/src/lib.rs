//! The simulator in a web page: questions and answers in JSON, over two functions that WebAssembly exports.
//!
//! A page writes a question into [`memory::allocate`]'s memory and passes it to [`memory::answer`]. An instance holds one run; a page
//! that shows two has two instances.

mod answers;
pub mod memory;
mod question;
mod rows;

pub use answers::Playground;
