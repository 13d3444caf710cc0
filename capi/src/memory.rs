//! Objects in memory of the caller, and what the caller's pointers promise: all raw memory of this
//! package.
//!
//! An object is a tag, its extent and a body, at the beginning of the memory it was built in; its
//! numbers follow. The tag tells an object from memory that holds none, from another kind, and from
//! one that is at work: a callback that calls back is refused, and no two references to a body ever
//! live.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::slice;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::status::{Refusal, Refused, Status};

/// Alignment of the memory of every object, in bytes.
pub const SORDINO_ALIGN: usize = 8;

/// The tag of an object whose functions are running.
const AT_WORK: u32 = 0x5eed_b051;

/// What lies at the beginning of an object's memory: the tag first of all.
#[repr(C)]
pub(crate) struct Handle<B> {
    tag: u32,
    /// Bytes of the memory, from the handle on.
    extent: usize,
    body: MaybeUninit<B>,
}

/// A kind of object: the type that C points to, and what stands behind it.
pub(crate) trait Object: Sized {
    /// What the functions work on.
    type Body: 'static;
    /// Tells the kinds from each other.
    const TAG: u32;
}

/// What C hands over by pointer: every pattern of bits is a value.
///
/// # Safety
///
/// The type is `repr(C)` and holds integers, floats, raw pointers and optional function pointers
/// alone.
// SAFETY: asked for above.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: these are numbers, or arrays of them.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for usize {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for u8 {}
// SAFETY: integers, a number and pointers to texts.
unsafe impl Plain for Refusal {}
// SAFETY: a pointer.
unsafe impl<T> Plain for *mut T {}
// SAFETY: a pointer.
unsafe impl<T> Plain for *const T {}

/// The word of a C caller: a pointer that it gave to the function at work is NULL, or good for as
/// many values as were named beside it until the function returns; a callback that it lent does
/// what its doc says. Who holds this may read and write there, and call it.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    /// First byte and end of the object's memory.
    object: (usize, usize),
}

impl Word {
    /// Takes the caller's word, for a function that works on the object at these addresses.
    ///
    /// # Safety
    ///
    /// The caller of the C function has given it: its section "Safety" asks for it.
    // SAFETY: asked for above, and given in every place that calls this.
    unsafe fn given(first: usize, bytes: usize) -> Self {
        Word {
            object: (first, first.saturating_add(bytes)),
        }
    }

    /// Takes the caller's word, for a function that works on no object.
    ///
    /// # Safety
    ///
    /// As for [`Word::given`].
    // SAFETY: asked for above.
    pub(crate) unsafe fn alone() -> Self {
        Word { object: (0, 0) }
    }

    /// Whether `len` values can be at a pointer that this function may use.
    pub(crate) fn admit<T>(&self, pointer: *const T, len: usize) -> Result<(), Status> {
        if pointer.is_null() {
            return Err(Status::Null);
        }
        if !pointer.is_aligned() {
            return Err(Status::Misaligned);
        }
        let first = pointer.addr();
        let bytes = len.checked_mul(size_of::<T>()).ok_or(Status::TooShort)?;
        let end = first
            .checked_add(bytes)
            .filter(|_| isize::try_from(bytes).is_ok())
            .ok_or(Status::TooShort)?;
        if first < self.object.1 && self.object.0 < end {
            Err(Status::Overlap)
        } else {
            Ok(())
        }
    }

    /// The value at a pointer.
    pub(crate) fn read<T: Plain>(&self, pointer: *const T) -> Result<T, Status> {
        self.admit(pointer, 1)?;
        // SAFETY: not null, aligned, and good for one value by the caller's word; every pattern of
        // bits is one.
        Ok(unsafe { pointer.read() })
    }

    /// Puts a value where C wants it.
    pub(crate) fn write<T: Plain>(&self, pointer: *mut T, value: T) -> Result<(), Status> {
        self.admit(pointer, 1)?;
        // SAFETY: not null, aligned, and good for one value by the caller's word.
        unsafe { pointer.write(value) };
        Ok(())
    }

    /// Puts a value where C wants it, if it does.
    pub(crate) fn offer<T: Plain>(&self, pointer: *mut T, value: T) -> Result<(), Status> {
        if pointer.is_null() {
            Ok(())
        } else {
            self.write(pointer, value)
        }
    }

    /// The status of a refusal, with the setting that was refused where C wants it; zeros where
    /// none was.
    pub(crate) fn refuse(&self, refused: &Refused, refusal: *mut Refusal) -> Status {
        match self.offer(refusal, refused.refusal()) {
            Err(status) => status,
            Ok(()) => refused.status,
        }
    }

    /// A list of C's; an empty one may be NULL.
    pub(crate) fn list<'a, T: Plain>(
        &self,
        pointer: *const T,
        len: usize,
    ) -> Result<&'a [T], Status> {
        if len == 0 {
            return Ok(&[]);
        }
        self.admit(pointer, len)?;
        // SAFETY: not null, aligned, no longer than memory can be, good for `len` values by the
        // caller's word; nothing is written there before the function returns: outputs are written
        // after the last use of every list.
        Ok(unsafe { slice::from_raw_parts(pointer, len) })
    }

    /// A list of C's that an object keeps: constants in flash say. An empty one may be NULL.
    pub(crate) fn kept<T: Plain>(
        &self,
        pointer: *const T,
        len: usize,
    ) -> Result<&'static [T], Status> {
        // As `list`; the doc of the function asks for a list that stays as it is for as long as the
        // object is used.
        self.list(pointer, len)
    }

    /// Whether an object may keep this list: none of its own bytes is in it.
    pub(crate) fn elsewhere<T: Plain>(&self, list: &[T]) -> Result<(), Status> {
        if list.is_empty() {
            Ok(())
        } else {
            self.admit(list.as_ptr(), list.len())
        }
    }

    /// Scratch of C's, written and read.
    pub(crate) fn scratch<'a, T: Plain>(
        &self,
        pointer: *mut T,
        len: usize,
    ) -> Result<&'a mut [T], Status> {
        if len == 0 {
            return Ok(&mut []);
        }
        self.admit(pointer, len)?;
        // SAFETY: as in `list`; it lies outside of the object, and no function that takes scratch
        // reads a list afterwards which shares bytes with it (`apart` sees to that where both are
        // used at once).
        Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
    }

    /// A list of C's, and scratch that shares no byte with it.
    pub(crate) fn apart<'a, T: Plain, U: Plain>(
        &self,
        list: *const T,
        len: usize,
        scratch: *mut U,
        room: usize,
    ) -> Result<(&'a [T], &'a mut [U]), Status> {
        let from = self.list(list, len)?;
        if room > 0 {
            self.admit(scratch, room)?;
        }
        // Neither product overflows: both were admitted.
        let first = list.addr();
        let second = scratch.addr();
        let len = size_of_val(from);
        let room_bytes = room * size_of::<U>();
        if first < second + room_bytes && second < first + len {
            return Err(Status::Overlap);
        }
        Ok((from, self.scratch(scratch, room)?))
    }

    /// Copies a list to where C wants it.
    pub(crate) fn copy<T: Plain>(&self, from: &[T], to: *mut T, len: usize) -> Result<(), Status> {
        if len < from.len() {
            return Err(Status::TooShort);
        }
        self.admit(to, len)?;
        // SAFETY: `to` is good for `len` values, at least as many as `from` has, and lies outside
        // of the object's memory; `copy` admits every other overlap.
        unsafe { to.copy_from(from.as_ptr(), from.len()) };
        Ok(())
    }
}

/// What is left of the memory in which an object is being built.
pub(crate) struct Arena {
    rest: &'static mut [MaybeUninit<u8>],
    whole: usize,
}

impl Arena {
    /// Whether the whole memory, the handle included, is as large as the functions and macros for
    /// sizes say.
    pub(crate) fn require(&self, bytes: usize) -> Result<(), Refused> {
        if self.whole < bytes {
            Err(Refused::short(
                "len",
                self.whole,
                "the bytes that its _size function or _SIZE macro says, at least",
            ))
        } else {
            Ok(())
        }
    }

    /// The next bytes, as many as keep what follows aligned.
    fn take(&mut self, bytes: usize) -> Result<&'static mut [MaybeUninit<u8>], Status> {
        let bytes = bytes
            .checked_next_multiple_of(SORDINO_ALIGN)
            .ok_or(Status::TooShort)?;
        let (taken, rest) = core::mem::take(&mut self.rest)
            .split_at_mut_checked(bytes)
            .ok_or(Status::TooShort)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A value that lies in the memory from now on.
    pub(crate) fn place<T>(&mut self, value: T) -> Result<&'static mut T, Status> {
        const { assert!(align_of::<T>() <= SORDINO_ALIGN) };
        let place = self
            .take(size_of::<T>())?
            .as_mut_ptr()
            .cast::<MaybeUninit<T>>();
        // SAFETY: the bytes are ours alone, as many as the type needs, and aligned: the memory is,
        // and every part taken from it is a multiple of the alignment.
        Ok(unsafe { &mut *place }.write(value))
    }

    /// Zero bytes that lie in the memory from now on.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'static mut [u8], Status> {
        let (bytes, _) = self
            .take(len)?
            .split_at_mut_checked(len)
            .ok_or(Status::TooShort)?;
        bytes.fill(MaybeUninit::new(0));
        let first = bytes.as_mut_ptr().cast::<u8>();
        // SAFETY: `len` zero bytes, which are ours alone.
        Ok(unsafe { slice::from_raw_parts_mut(first, len) })
    }

    /// Zeros that lie in the memory from now on.
    pub(crate) fn zeros<T: Plain>(&mut self, len: usize) -> Result<&'static mut [T], Status> {
        const { assert!(align_of::<T>() <= SORDINO_ALIGN) };
        let bytes = self.take(len.checked_mul(size_of::<T>()).ok_or(Status::TooShort)?)?;
        bytes.fill(MaybeUninit::new(0));
        let first = bytes.as_mut_ptr().cast::<T>();
        // SAFETY: `len` values of zero bytes, which are ours alone and aligned; every pattern of
        // bits is a value.
        Ok(unsafe { slice::from_raw_parts_mut(first, len) })
    }

    /// Zeros of single precision that lie in the memory from now on.
    pub(crate) fn numbers(&mut self, len: usize) -> Result<&'static mut [f32], Status> {
        self.zeros(len)
    }
}

/// Builds an object at the beginning of `memory` and writes where it is to `out`. Of a refusal it
/// writes the setting to `refusal`, zeros if it is of no setting, unless that is NULL.
///
/// # Safety
///
/// `memory` is NULL, or good for `len` bytes that nobody else uses for as long as the object is
/// used; `out` and `refusal` are NULL or good for one value; so is every pointer that `make` uses
/// with the [`Word`] it gets.
// SAFETY: asked for above, and by every C function that builds.
pub(crate) unsafe fn build<O: Object>(
    memory: *mut c_void,
    len: usize,
    out: *mut *mut O,
    refusal: *mut Refusal,
    make: impl FnOnce(&mut Arena, Word) -> Result<O::Body, Refused>,
) -> Status {
    // SAFETY: our caller gives the word of its caller.
    let outside = unsafe { Word::alone() };
    if memory.is_null() {
        return outside.refuse(&Status::Null.into(), refusal);
    }
    if !memory.addr().is_multiple_of(SORDINO_ALIGN) {
        return outside.refuse(&Status::Misaligned.into(), refusal);
    }
    if isize::try_from(len).is_err() || memory.addr().checked_add(len).is_none() {
        return outside.refuse(&Status::TooShort.into(), refusal);
    }
    // SAFETY: our caller gives the word of its caller.
    let word = unsafe { Word::given(memory.addr(), len) };
    // SAFETY: not null, no longer than memory can be, and ours alone for `len` bytes, which need
    // not be initialised.
    let rest = unsafe { slice::from_raw_parts_mut(memory.cast(), len) };
    let mut arena = Arena { rest, whole: len };
    let made = arena.place(Handle::<O::Body> {
        tag: 0,
        extent: len,
        body: MaybeUninit::uninit(),
    });
    let made = made.map_err(Refused::from).and_then(|handle| {
        handle.body.write(make(&mut arena, word)?);
        word.write(out, (&raw mut *handle).cast::<O>())?;
        handle.tag = O::TAG;
        Ok(())
    });
    match made {
        Ok(()) => Status::Ok,
        Err(refused) => word.refuse(&refused, refusal),
    }
}

/// Lets `act` work on the object at `object`, which no callback can reach meanwhile.
///
/// # Safety
///
/// `object` is NULL, or good for the beginning of an object, which [`build`] wrote and nobody else;
/// every pointer that `act` uses with the [`Word`] it gets is NULL or good for as many values as
/// are named beside it.
// SAFETY: asked for above, and by every C function that works on an object.
pub(crate) unsafe fn with<O: Object>(
    object: *mut O,
    act: impl FnOnce(&mut O::Body, Word) -> Result<Status, Refused>,
) -> Status {
    let handle = object.cast::<Handle<O::Body>>();
    // SAFETY: as our caller promises.
    let word = match unsafe { found::<O>(handle) } {
        Ok(word) => word,
        Err(status) => return status,
    };
    let tag = handle.cast::<u32>();
    // SAFETY: an object is there, and its tag is what it begins with.
    unsafe { tag.write_volatile(AT_WORK) };
    // An interrupt in between sees the tag before any change of the body, and after all of them.
    compiler_fence(Ordering::SeqCst);
    // SAFETY: as above; the tag says from now on that nobody else may have the body.
    let body = unsafe { &mut (*handle).body };
    // SAFETY: the tag said that `build` wrote the body.
    let body = unsafe { body.assume_init_mut() };
    let came_to = act(body, word).unwrap_or_else(|refused| refused.status);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: as for the first look at it; a callback that was refused has only read it.
    unsafe { tag.write_volatile(O::TAG) };
    came_to
}

/// Lets `see` look at the object at `object`, and changes nothing in it.
///
/// # Safety
///
/// As for [`with`].
// SAFETY: asked for above, and by every C function that looks at an object.
pub(crate) unsafe fn look<O: Object>(
    object: *const O,
    see: impl FnOnce(&O::Body, Word) -> Result<Status, Refused>,
) -> Status {
    let handle = object.cast::<Handle<O::Body>>();
    // SAFETY: as our caller promises.
    match unsafe { found::<O>(handle) } {
        Ok(word) => {
            // SAFETY: `found` says that an object is there and not at work, and `see` calls nothing
            // back.
            let body = unsafe { &(*handle).body };
            // SAFETY: the tag said that `build` wrote the body.
            let body = unsafe { body.assume_init_ref() };
            see(body, word).unwrap_or_else(|refused| refused.status)
        }
        Err(status) => status,
    }
}

/// Whether an object of this kind is at `handle` and is not at work; the word of the caller for a
/// function on it.
///
/// # Safety
///
/// As for [`with`].
// SAFETY: asked for above.
unsafe fn found<O: Object>(handle: *const Handle<O::Body>) -> Result<Word, Status> {
    if handle.is_null() {
        return Err(Status::Null);
    }
    if !handle.is_aligned() || !handle.addr().is_multiple_of(SORDINO_ALIGN) {
        return Err(Status::Misaligned);
    }
    // SAFETY: not null, aligned, good for a handle by our caller's word. Of an object at work the
    // tag alone is looked at, because a reference to its body lives.
    let tag = unsafe { handle.cast::<u32>().read_volatile() };
    if tag != O::TAG {
        return Err(if tag == AT_WORK {
            Status::Busy
        } else {
            Status::NotBuilt
        });
    }
    // SAFETY: as above; the tag says that `build` finished.
    let extent = unsafe { (*handle).extent };
    // SAFETY: our caller gives the word of its caller.
    Ok(unsafe { Word::given(handle.addr(), extent) })
}
