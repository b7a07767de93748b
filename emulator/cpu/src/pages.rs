//! Decoded instructions beside a memory, by page, and pages that boards share.
//!
//! A board gets a page at its first execution in it. If another board of the world has one for the same bytes with the same marks, both
//! use that: it is decoded once, and takes place in the host's caches once. A shared page never holds anything but the decodings of the
//! bytes that it was made for. So a board whose memory changes there gets a copy of its own before the write ([`Pages::change`]), and
//! a core, which cannot exchange pages while it executes from them, leaves such a store to its bus ([`Pages::forget`]).
//!
//! Progress of decoding within a shared page depends on when other boards executed it, so nothing but speed may depend on that. Where it
//! would be visible, in the instruction trace, pages are not shared.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::code_map::CodeMap;
use super::decoded::{Decoded, Place};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;
const PAGE_OPS: usize = PAGE_BYTES / 4;

/// Pages in the registry before those that no board uses any more are looked for.
const FEW_PAGES: usize = 64;

/// The properties that a page of decoded code follows from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a, O: Decoded> {
    /// The bytes of the page.
    pub bytes: &'a [u8],
    /// Addresses in the page of instructions that carry a probe.
    pub marks: &'a [u32],
    /// The pipeline.
    pub pipeline: O::Pipeline,
    /// Addresses at which code may be.
    pub code: &'a CodeMap,
}

impl<O: Decoded> Origin<'_, O> {
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.bytes.hash(&mut hasher);
        self.marks.hash(&mut hasher);
        hasher.finish()
    }
}

/// The [`Origin`] of a shared page, to be compared with others.
#[derive(Debug)]
struct KeptOrigin<O: Decoded> {
    bytes: Box<[u8]>,
    marks: Box<[u32]>,
    pipeline: O::Pipeline,
    code: CodeMap,
}

impl<O: Decoded> KeptOrigin<O> {
    fn is(&self, other: &Origin<'_, O>) -> bool {
        *self.bytes == *other.bytes
            && *self.marks == *other.marks
            && self.pipeline == other.pipeline
            && self.code == *other.code
    }
}

/// Users of a page.
#[derive(Debug)]
enum Use<O: Decoded> {
    /// A board alone.
    Own,
    /// All boards with such memory.
    Shared(KeptOrigin<O>),
    /// A board, or several that never execute anything there; each looks into the stores of its core.
    Guard,
}

/// A page of decoded instructions.
#[derive(Debug)]
struct DecodedPage<O: Decoded> {
    ops: [Place<O>; PAGE_OPS],
    of: Use<O>,
}

impl<O: Decoded> DecodedPage<O> {
    /// A page in which nothing is decoded.
    fn new(of: Use<O>) -> Arc<Self> {
        Arc::new(Self {
            ops: std::array::from_fn(|_| Place::default()),
            of,
        })
    }

    /// A page with the same decoded instructions, of one board alone.
    fn into_own(self: Arc<Self>) -> Arc<Self> {
        if !matches!(self.of, Use::Shared(_)) {
            return self;
        }
        Arc::new(Self {
            ops: std::array::from_fn(|index| Place::new(self.ops[index].get())),
            of: Use::Own,
        })
    }
}

/// The pages that boards share.
#[derive(Debug)]
pub struct SharedPages<O: Decoded>(Arc<Mutex<Registry<O>>>);

impl<O: Decoded> Clone for SharedPages<O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<O: Decoded> Default for SharedPages<O> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Registry {
            by_hash: HashMap::new(),
            pages: 0,
            most: FEW_PAGES,
            guard: None,
        })))
    }
}

/// The shared pages, by their contents. Boards own them; a page that no board has any more stays until there are too many.
#[derive(Debug)]
struct Registry<O: Decoded> {
    by_hash: HashMap<u64, Vec<Weak<DecodedPage<O>>>>,
    /// Pages in it.
    pages: usize,
    /// With more pages than that, those without a board are removed.
    most: usize,
    /// The page of all guards.
    guard: Option<Arc<DecodedPage<O>>>,
}

impl<O: Decoded> SharedPages<O> {
    /// The page that was made for this, or a new one.
    fn find(&self, origin: &Origin<'_, O>) -> Arc<DecodedPage<O>> {
        let hash = origin.hash();
        let new = || {
            DecodedPage::new(Use::Shared(KeptOrigin {
                bytes: origin.bytes.into(),
                marks: origin.marks.into(),
                pipeline: origin.pipeline,
                code: origin.code.clone(),
            }))
        };
        let Ok(mut registry) = self.0.lock() else {
            return new();
        };
        let known = registry.by_hash.get(&hash).into_iter().flatten();
        let is_made_for =
            |page: &DecodedPage<O>| matches!(&page.of, Use::Shared(kept) if kept.is(origin));
        let mut found = known.filter_map(Weak::upgrade);
        found
            .find(|page| is_made_for(page))
            .unwrap_or_else(|| registry.keep(hash, new()))
    }

    /// The page of guards.
    fn guard(&self) -> Arc<DecodedPage<O>> {
        let new = || DecodedPage::new(Use::Guard);
        match self.0.lock() {
            Ok(mut registry) => Arc::clone(registry.guard.get_or_insert_with(new)),
            Err(_) => new(),
        }
    }

    /// Number of pages that some board uses.
    #[must_use]
    pub fn used(&self) -> usize {
        let registry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = registry.by_hash.values().flatten();
        pages.filter(|page| page.strong_count() > 0).count()
    }
}

impl<O: Decoded> Registry<O> {
    fn keep(&mut self, hash: u64, page: Arc<DecodedPage<O>>) -> Arc<DecodedPage<O>> {
        if self.pages >= self.most {
            self.remove_unused();
        }
        let known = self.by_hash.entry(hash).or_default();
        known.push(Arc::downgrade(&page));
        self.pages += 1;
        page
    }

    fn remove_unused(&mut self) {
        self.by_hash.retain(|_, pages| {
            pages.retain(|page| page.strong_count() > 0);
            !pages.is_empty()
        });
        self.pages = self.by_hash.values().map(Vec::len).sum();
        self.most = FEW_PAGES.max(2 * self.pages);
    }
}

/// The decoded instructions of a memory. Indices are bytes from its begin.
#[derive(Debug)]
pub struct Pages<O: Decoded> {
    /// The pages up to the last one in which anything was executed, so that most writes of data need not look into them.
    pages: Vec<Option<Arc<DecodedPage<O>>>>,
    shared: Option<SharedPages<O>>,
    /// The bytes to which a core's stores go by its bus, with those around them in their pages.
    guarded: Range<usize>,
}

impl<O: Decoded> Default for Pages<O> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            shared: None,
            guarded: 0..0,
        }
    }
}

impl<O: Decoded> Pages<O> {
    /// Looks for pages among these from now on.
    pub fn share(&mut self, shared: &SharedPages<O>) {
        self.shared = Some(shared.clone());
        self.clear();
    }

    /// Stores of a core into the pages of these bytes, none of which is ever code, go by its bus from now on. Such pages are like shared
    /// ones, so that other stores pay nothing.
    pub fn guard(&mut self, bytes: Range<usize>) {
        self.guarded = bytes;
        self.clear();
    }

    /// Discards all pages.
    pub fn clear(&mut self) {
        self.pages.clear();
        if self.guarded.is_empty() {
            return;
        }
        let Range { start, end } = self.guarded;
        let has_code = !start.is_multiple_of(PAGE_BYTES) || !end.is_multiple_of(PAGE_BYTES);
        for number in start / PAGE_BYTES..end.div_ceil(PAGE_BYTES) {
            let page = match &self.shared {
                Some(shared) if !has_code => shared.guard(),
                _ => DecodedPage::new(Use::Guard),
            };
            *self.entry(number * PAGE_BYTES) = Some(page);
        }
    }

    /// Whether there is a page for one of these bytes.
    pub fn has_page_in(&self, bytes: &Range<usize>) -> bool {
        let pages = self.pages.iter().take(bytes.end.div_ceil(PAGE_BYTES));
        let mut pages = pages.skip(bytes.start / PAGE_BYTES);
        pages.any(Option::is_some)
    }

    /// The places from index `at` on, up to the end of its page; none without a page.
    #[inline(always)]
    pub fn from(&self, at: usize) -> &[Place<O>] {
        match self.pages.get(at / PAGE_BYTES) {
            Some(Some(page)) => &page.ops[at % PAGE_BYTES / 4..],
            _ => &[],
        }
    }

    /// The instruction at index `at`, as far as it is decoded.
    pub fn op(&self, at: usize) -> O {
        self.from(at).first().map_or(O::UNDECODED, Place::get)
    }

    /// Gets the page of index `at`, which boards share if they share any.
    pub fn add(&mut self, at: usize, origin: &Origin<'_, O>) {
        let page = match &self.shared {
            Some(shared) => shared.find(origin),
            None => DecodedPage::new(Use::Own),
        };
        *self.entry(at) = Some(page);
    }

    /// Makes the page of index `at` this board's own, if it is not.
    pub fn add_own(&mut self, at: usize) {
        let page = self.entry(at);
        *page = match page.take() {
            None => Some(DecodedPage::new(Use::Own)),
            Some(page) => Some(page.into_own()),
        };
    }

    /// The entry for the page of index `at`.
    fn entry(&mut self, at: usize) -> &mut Option<Arc<DecodedPage<O>>> {
        let number = at / PAGE_BYTES;
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        &mut self.pages[number]
    }

    /// Discards the decoded instruction at index `at` for a store by a core that executes from these pages. `false` if boards share the
    /// page: the store must go by [`change`](Self::change).
    #[inline(always)]
    #[must_use]
    pub fn forget(&self, at: usize) -> bool {
        if let Some(Some(page)) = self.pages.get(at / PAGE_BYTES) {
            if !matches!(page.of, Use::Own) {
                return false;
            }
            page.ops[at % PAGE_BYTES / 4].set(O::UNDECODED);
        }
        true
    }

    /// Discards the decoded instructions that these bytes belong to, which change.
    #[inline(always)]
    pub fn change(&mut self, bytes: Range<usize>) {
        let end = bytes.end.div_ceil(PAGE_BYTES).min(self.pages.len());
        let pages = self.pages.get(bytes.start / PAGE_BYTES..end);
        // Most stores are to data, in pages without code.
        if pages.is_some_and(|pages| pages.iter().any(Option::is_some)) {
            self.change_pages(bytes);
        }
    }

    fn change_pages(&mut self, bytes: Range<usize>) {
        let pages = self.pages.iter_mut().enumerate();
        let pages = pages.take(bytes.end.div_ceil(PAGE_BYTES));
        for (number, entry) in pages.skip(bytes.start / PAGE_BYTES) {
            let Some(page) = entry.take() else {
                continue;
            };
            let page = entry.insert(page.into_own());
            let start = number * PAGE_BYTES;
            let from = bytes.start.max(start) - start;
            let to = bytes.end.min(start + PAGE_BYTES) - start;
            for op in &page.ops[from / 4..to.div_ceil(4)] {
                op.set(O::UNDECODED);
            }
        }
    }
}
