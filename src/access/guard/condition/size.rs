//! Upper bounds for the size of values, and what it costs to copy and compare them.

use std::rc::Rc;

use super::price;

/// The largest size that a value can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// The bytes of a text.
    pub(super) bytes: u64,
    /// The number of `/` in a text, if it is bounded.
    pub(super) slashes: Option<u64>,
    /// The number of elements of a list or map.
    pub(super) items: u64,
    /// The size of each element, key or value.
    pub(super) item: Option<Rc<Size>>,
    /// The cost of a copy, if the elements are known to differ in size.
    pub(super) copied: Option<u64>,
}

impl Size {
    /// A number, time or boolean.
    pub(super) const SCALAR: Self =
        Self { bytes: 0, slashes: None, items: 0, item: None, copied: None };

    pub(super) fn text(bytes: usize) -> Self {
        Self { bytes: bytes as u64, ..Self::SCALAR }
    }

    /// The same with at most this many `/`.
    pub(super) fn with_slashes(self, slashes: usize) -> Self {
        Self { slashes: Some(slashes as u64), ..self }
    }

    pub(super) fn list(items: u64, item: Self) -> Self {
        Self { items, item: Some(Rc::new(item)), ..Self::SCALAR }
    }

    /// The size of a variable with these fields.
    pub(super) fn variable(fields: impl Iterator<Item = Self>) -> Self {
        let (mut all, mut count, mut copied) = (Self::SCALAR, 0, price::COPY);
        for field in fields {
            count += 1;
            copied += price::ENTRY + field.copy();
            all = all.or(&field);
        }
        Self { copied: Some(copied), ..Self::list(count, all) }
    }

    /// The smallest size that covers both.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            slashes: self.slashes.zip(other.slashes).map(|(one, two)| one.max(two)),
            items: self.items.max(other.items),
            item: match (self.item, &other.item) {
                (Some(one), Some(two)) => Some(Rc::new(Self::clone(&one).or(two))),
                (one, two) => one.or_else(|| two.clone()),
            },
            copied: None,
        }
    }

    pub(super) fn item(&self) -> Self {
        self.item.as_deref().cloned().unwrap_or(Self::SCALAR)
    }

    /// The bytes of all nested texts.
    pub(super) fn all_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.items.saturating_mul(self.item().all_bytes_of_item()))
    }

    fn all_bytes_of_item(&self) -> u64 {
        if self.items == 0 { self.bytes } else { self.all_bytes() }
    }

    /// The number of all nested elements.
    pub(super) fn all_items(&self) -> u64 {
        match &self.item {
            Some(item) => self.items.saturating_mul(item.all_items().max(1)),
            None => 1,
        }
    }

    /// The cost of a copy.
    pub(super) fn copy(&self) -> u64 {
        if let Some(copied) = self.copied {
            return copied;
        }
        let items = self.items.saturating_mul(self.item.as_ref().map_or(0, |item| item.copy()));
        (price::COPY + self.bytes / 4).saturating_add(items)
    }

    /// The cost of a comparison.
    pub(super) fn compare(&self, other: &Self) -> u64 {
        let items = self.items.min(other.items);
        let item = match (&self.item, &other.item) {
            (Some(one), Some(two)) => one.compare(two),
            _ => 0,
        };
        (price::COMPARE + self.bytes.min(other.bytes) / 8)
            .saturating_add(items.saturating_mul(item))
    }
}
