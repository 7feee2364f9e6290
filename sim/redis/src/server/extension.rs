//! Commands that the user of a server adds to it.

use std::fmt;
use std::sync::Arc;

use super::thread::Stop;
use crate::engine::ExtensionReply;

/// Answers the words of a request; see [`Builder::extend`](super::Builder::extend).
#[derive(Clone)]
pub(super) struct Extension(Arc<dyn Answers>);

/// A function that answers the words of a request on a server that ends at this signal.
pub(super) trait Answers:
    Fn(&[&[u8]], &Stop) -> Option<ExtensionReply> + Send + Sync
{
}

impl<F: Fn(&[&[u8]], &Stop) -> Option<ExtensionReply> + Send + Sync> Answers for F {}

impl Extension {
    pub(super) fn new(answers: impl Answers + 'static) -> Self {
        Extension(Arc::new(answers))
    }

    /// The function, for a server that ends at this signal.
    pub(super) fn until(
        &self,
        stop: &Stop,
    ) -> impl Fn(&[&[u8]]) -> Option<ExtensionReply> + 'static {
        let (answers, stop) = (self.0.clone(), stop.clone());
        move |words| answers(words, &stop)
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").finish_non_exhaustive()
    }
}
