//! `locklab_view`: what the page knows of a run, what a browser makes of it, and the formats of
//! other viewers.

mod browser;
mod data;
mod formats;
mod shown;
