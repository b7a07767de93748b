//! Time of page fetches: the first node touches all pages and so becomes their home, then each other node reads a word of each.

use host_lib::dsm::Shared;

use super::{Verified, Worker, text};

/// Bytes of a page of the benchmark, and of the memory (ardmar-011).
pub(super) const PAGE_BYTES: usize = 4096;
/// Words of a page.
const WORDS: usize = PAGE_BYTES / 4;

const fn word(page: usize) -> u32 {
    page as u32 * 3 + 1
}

/// Fetches the pages; each node checks what it reads.
pub(super) async fn run(worker: &mut Worker, pages: usize) -> Result<Verified, String> {
    let words: Shared<u32> = worker.dsm.allocate(pages * WORDS).map_err(text)?;
    if worker.rank() == 0 {
        for page in 0..pages {
            let touched = worker.dsm.set(words, page * WORDS, word(page)).await;
            touched.map_err(text)?;
        }
    }
    worker.begin().await?;
    if worker.rank() > 0 {
        for page in 0..pages {
            let found = worker.dsm.get(words, page * WORDS).await.map_err(text)?;
            if found != word(page) {
                return Err(format!("page {page} has {found:#x}"));
            }
        }
    }
    worker.barrier().await?;
    worker.end(async |_: &mut Worker| Ok(true)).await
}
