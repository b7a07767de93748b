//! GM's control programs on emulated boards, with the host library. The images exist where LLVM's tools do.

mod bench;
mod exchange;
mod mapper;
mod registers;
mod traffic;
