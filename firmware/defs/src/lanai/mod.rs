//! Boards with Myricom's LANai (docs/lanai.md).

pub mod window;
