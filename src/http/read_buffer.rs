//! What a connection leaves in memory.

use bytes::Bytes;

/// The size of the buffer that hyper first reads into.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// Overwrites hyper's read buffer: the last body in it may contain a password. A buffer that is shared or has grown is not
/// changed.
pub(crate) fn wipe(buffer: Bytes) {
    if let Ok(mut buffer) = buffer.try_into_mut()
        && buffer.try_reclaim(READ_BUFFER_BYTES)
    {
        buffer.resize(buffer.capacity(), 0);
    }
}
