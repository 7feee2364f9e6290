//! `locklab_view`: the data of the page, its rendering in a browser, and the formats of other
//! viewers.

mod browser;
mod data;
mod formats;
mod moving;
mod shown;
